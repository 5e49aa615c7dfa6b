"""What runs measured, beside what is predicted: logs and tables read, factors fitted."""
