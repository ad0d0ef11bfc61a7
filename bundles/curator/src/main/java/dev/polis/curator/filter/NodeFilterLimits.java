package dev.polis.curator.filter;

import dev.cel.common.CelAbstractSyntaxTree;
import dev.cel.common.CelIssue;
import dev.cel.common.CelOptions;
import dev.cel.common.ast.CelConstant;
import dev.cel.common.ast.CelExpr;
import dev.cel.common.ast.CelExpr.CelCall;
import dev.cel.common.ast.CelExpr.CelComprehension;
import dev.cel.common.ast.CelExpr.CelMap;
import dev.cel.common.ast.CelExpr.ExprKind;
import dev.cel.common.ast.CelExprVisitor;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * Finds the excessive parts of a parsed expression. It counts the parts whose cost grows faster
 * than their length, in the compiler or at one step of the evaluation.
 */
public final class NodeFilterLimits extends CelExprVisitor {
  /**
   * The most parts of an expression; a list of 300 node ids has 300. The compiler's time grows with
   * the square of the number: 5,000 parts take it two seconds.
   */
  private static final int PARTS = 1_000;

  /** The most comprehensions within or after each other; filter, map and exists in a row are 3. */
  private static final int NESTED = 4;

  /** The most maps; each may double the type of its elements, and the compiler expands types. */
  private static final int MAPS = 4;

  /** The most instructions of a compiled pattern, which a match applies letter by letter. */
  private static final int PATTERN = 1_000;

  /** The deepest nesting of the parser; four more levels still fit into a thread's stack. */
  private static final int DEPTH = 100;

  static final CelOptions OPTIONS =
      CelOptions.current()
          .maxParseExpressionNodeCount(PARTS)
          .maxParseRecursionDepth(DEPTH)
          .maxRegexProgramSize(PATTERN)
          .build();

  static final String SIZE =
      "it has more than %d parts, or nests them %d deep; use fewer, or list the nodes with several filters"
          .formatted(PARTS, DEPTH);

  /** The last number in a repetition of a pattern, such as {2,30}. */
  private static final Pattern REPEAT = Pattern.compile("([0-9]{1,9}),?}");

  private int depth;
  private int deepest;
  private int maps;
  private String pattern = ""; // the fault of the first bad pattern; empty while all are good

  private NodeFilterLimits() {}

  /** Returns the change that an expression needs; empty if the compiler may have it. */
  static Optional<String> problem(CelAbstractSyntaxTree parsed) {
    NodeFilterLimits limits = new NodeFilterLimits();
    limits.visit(parsed);
    return limits.problem();
  }

  /** Returns whether the parser stopped at one of the limits of {@link #OPTIONS}. */
  static boolean isLimit(CelIssue issue) {
    return issue.getMessage().contains("expression node limit")
        || issue.getMessage().contains("recursion limit");
  }

  private Optional<String> problem() {
    if (deepest > NESTED) {
      return Optional.of(
          "it nests lists %d deep, and the limit is %d; nest fewer all(), exists(), filter() and map()"
              .formatted(deepest, NESTED));
    }
    if (maps > MAPS) {
      return Optional.of(
          "it makes %d maps, and the limit is %d; compare the fields one by one"
              .formatted(maps, MAPS));
    }
    return Optional.of(pattern).filter(text -> !text.isEmpty());
  }

  @Override
  protected void visit(CelExpr expression, CelComprehension comprehension) {
    depth++;
    deepest = Math.max(deepest, depth);
    super.visit(expression, comprehension);
    depth--;
  }

  @Override
  protected void visit(CelExpr expression, CelMap map) {
    maps++;
    super.visit(expression, map);
  }

  @Override
  protected void visit(CelExpr expression, CelCall call) {
    if (pattern.isEmpty() && call.function().equals("matches") && !call.args().isEmpty()) {
      pattern = problemOfPattern(call.args().getLast()).orElse("");
    }
    super.visit(expression, call);
  }

  private static Optional<String> problemOfPattern(CelExpr pattern) {
    if (pattern.getKind() != ExprKind.Kind.CONSTANT
        || pattern.constant().getKind() != CelConstant.Kind.STRING_VALUE) {
      return Optional.of("the pattern of matches() is computed; write a constant pattern");
    }
    return problemOfPattern(pattern.constant().stringValue());
  }

  /**
   * Returns the needed change of a pattern; empty if it may be compiled. The library checks the
   * size only during the compilation, which may fill the memory.
   */
  public static Optional<String> problemOfPattern(String text) {
    double size = text.length();
    for (MatchResult repeat : REPEAT.matcher(text).results().toList()) {
      size *= Math.max(1, Integer.parseInt(repeat.group(1)));
    }
    return size <= PATTERN
        ? Optional.empty()
        : Optional.of(
            "with its repetitions expanded, the pattern \"%s\" has %.0f characters, and the limit is %d; make it shorter"
                .formatted(text, size, PATTERN));
  }
}
