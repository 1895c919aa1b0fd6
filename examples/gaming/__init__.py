"""A mobile game, in four jobs: scores of users and of teams, a leader board, and statistics of the game.

`python -m examples.gaming JOB` runs one of them.

events        what a user scores; the generator, and a source that replays events in order of arrival
windowing     how results are corrected by late events
scores        the jobs user_score and hourly_team_score
leader_board  scores that are shown before they are complete
game_stats    spammers by a side input, and the lengths of sessions
job           builds the jobs, runs them and reads what they wrote
"""
