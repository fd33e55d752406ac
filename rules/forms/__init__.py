"""What is found and changed in the way code is written, on LibCST nodes. Imported only while a file is judged."""
