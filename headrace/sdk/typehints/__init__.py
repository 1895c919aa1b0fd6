"""Types of elements: declared, propagated and checked, while a pipeline is built and while it runs.

Types come from annotations, from ``with_input_types`` and ``with_output_types``, and from the elements of a
Create. Nothing is inferred from the code of functions; an unknown type is ``typing.Any``, which suits every
other type.

===============  =====================================================================
``hints``        the normal form of a type hint, and its name in messages
``consistency``  whether elements of one type suit another
``variables``    type variables: what they stand for
``outputs``      the element type of a function's result
``signatures``   the hints in the annotations of a function
``io_hints``     the hints of a function, DoFn or transform
``composites``   checks of the inputs and outputs of a transform
``conformance``  whether an element is of a type
===============  =====================================================================

:mod:`headrace.sdk.pardo.call_types` checks the element and the arguments of functions, and
:mod:`headrace.sdk.pipelines.runtime_type_checks` the elements while a pipeline runs.
"""
