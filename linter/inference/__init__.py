"""An abstract interpreter over LibCST that turns code into tensor events."""
