"""Which handler lowers which node: the complete table of the language's constructs.

Computes: nothing. Gives: `EXPRESSIONS` and `STATEMENTS`, from node class to handler. A test compares them with the
node classes of LibCST, so a construct that is added to the language makes it fail.
"""

from __future__ import annotations

import libcst as cst

from terra_refactor.ir.build import (
    comprehensions,
    control,
    definitions,
    expressions,
    imports,
    literals,
    match,
    names,
    statements,
    templates,
    type_parameters,
)
from terra_refactor.ir.build.builder import ExpressionHandler, HandlerTable, StatementHandler

EXPRESSIONS: HandlerTable[ExpressionHandler] = HandlerTable(
    {
        cst.Attribute: expressions.lower_left_chain,
        cst.Await: expressions.lower_await,
        cst.BinaryOperation: expressions.lower_left_chain,
        cst.BooleanOperation: expressions.lower_left_chain,
        cst.Call: expressions.lower_left_chain,
        cst.Comparison: expressions.lower_comparison,
        cst.ConcatenatedString: templates.lower_concatenated_string,
        cst.Dict: expressions.lower_dict,
        cst.DictComp: comprehensions.lower_comprehension,
        cst.Ellipsis: literals.lower_ellipsis,
        cst.Float: literals.lower_float,
        cst.FormattedString: literals.lower_formatted_string,
        cst.GeneratorExp: comprehensions.lower_comprehension,
        cst.IfExp: expressions.lower_if_expression,
        cst.Imaginary: literals.lower_imaginary,
        cst.Integer: literals.lower_integer,
        cst.Lambda: definitions.lower_lambda,
        cst.List: expressions.lower_list,
        cst.ListComp: comprehensions.lower_comprehension,
        cst.Name: names.lower_name,
        cst.NamedExpr: names.lower_named_expression,
        cst.Set: expressions.lower_set,
        cst.SetComp: comprehensions.lower_comprehension,
        cst.SimpleString: literals.lower_simple_string,
        cst.Subscript: expressions.lower_left_chain,
        cst.TemplatedString: templates.lower_templated_string,
        cst.Tuple: expressions.lower_tuple,
        cst.UnaryOperation: expressions.lower_unary,
        cst.Yield: expressions.lower_yield,
    }
)

STATEMENTS: HandlerTable[StatementHandler] = HandlerTable(
    {
        cst.AnnAssign: statements.lower_annotated_assign,
        cst.Assert: statements.lower_assert,
        cst.Assign: statements.lower_assign,
        cst.AugAssign: statements.lower_augmented_assign,
        cst.Break: statements.lower_break,
        cst.ClassDef: definitions.lower_class_def,
        cst.Continue: statements.lower_continue,
        cst.Del: statements.lower_del,
        cst.Expr: statements.lower_expression_statement,
        cst.For: control.lower_for,
        cst.FunctionDef: definitions.lower_function_def,
        cst.Global: names.lower_global,
        cst.If: control.lower_if,
        cst.Import: imports.lower_import,
        cst.ImportFrom: imports.lower_import_from,
        cst.Match: match.lower_match,
        cst.Nonlocal: names.lower_nonlocal,
        cst.Pass: statements.lower_pass,
        cst.Raise: statements.lower_raise,
        cst.Return: statements.lower_return,
        cst.Try: control.lower_try,
        cst.TryStar: control.lower_try,
        cst.TypeAlias: type_parameters.lower_type_alias,
        cst.While: control.lower_while,
        cst.With: control.lower_with,
    }
)
