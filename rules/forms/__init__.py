"""What rules about the way code is written look for, on LibCST nodes. Imported only while a file is judged."""
