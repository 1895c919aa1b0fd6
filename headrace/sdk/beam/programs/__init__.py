"""Programs that are written with ``apache_beam``, run by Headrace as they are.

The only room that imports ``apache_beam`` (the extra ``beam``). A runner of Beam visits the objects of a
pipeline, and makes a graph of Headrace of them. Then a runner of Headrace runs the graph.

====================  =================================================================================
module                concept
====================  =================================================================================
``runner``            Beam's runner, which a program names, and the run as Beam's result
``options``           Beam's options as ours
``metrics``           Beam's metrics in ours, and back
``translation``       visits the objects, and translates each into nodes
``nodes``             the graph that is made: nodes with labels and windowing strategies of Beam
``applications``      the table from what Beam applies to how it is translated
``strategies``        windowing strategies and triggers
``window_fns``        window functions
``windows``           windows and panes
``rows``              bundles as Beam's windowed values, and back
``step``              what all calls of one of Beam's DoFns share in one process, and its side inputs
``arguments``         what the methods of DoFns ask for, as columns
``direct``            DoFns whose methods are called with columns, without Beam's calls
``dofns``             DoFns on bundles: called directly, or by Beam's calls
``splittable``        splittable DoFns: to the end of each element, or by restrictions
``stateful``          stateful DoFns
``retractions``       panes that retract earlier ones, which only Headrace has
``states``            states, timers and their coders
``combine``           CombineFns
``keys``              keys that only Beam's coders can encode
``sources``           sources and sinks: values, bounded sources, test streams, and Kafka
====================  =================================================================================
"""
