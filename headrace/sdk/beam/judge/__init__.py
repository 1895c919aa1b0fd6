"""The judge of Beam runners: draws pipelines, runs them by apache_beam on a runner, and checks the laws.

- :mod:`check_runner`: the public function.
- :mod:`runner_cases`: the strategies for pipelines that Beam can express.
- :mod:`in_beam`, :mod:`beam_programs`: a drawn pipeline in Beam's names, as expressions and as a program.
- :mod:`beam_pipelines`, :mod:`taps`: the same pipeline as Beam's objects, and a record of its panes.
- :mod:`playing`, :mod:`worker`: one call that runs a drawn pipeline on any runner, in its own process.
- :mod:`runner_laws`, :mod:`judging`, :mod:`judge_report`: the laws, their check on pipelines, and the report.

apache_beam is imported only while a pipeline is run, so that this package can be imported without it.
"""
