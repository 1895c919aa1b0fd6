"""What a run tells: metrics of users and of steps, log records with their step, and observers."""
