"""TLC3xx: the contract of `out=`."""
