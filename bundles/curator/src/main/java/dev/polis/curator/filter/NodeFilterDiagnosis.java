package dev.polis.curator.filter;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import dev.cel.common.CelIssue;
import dev.polis.base.config.DidYouMean;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Finds the unknown name in an invalid filter, and suggests an existing one. */
final class NodeFilterDiagnosis {

  private NodeFilterDiagnosis() {}

  /**
   * Explains an issue that concerns the name of a constant, of the variable, or of a field.
   *
   * @param constants the names of the constants
   * @return the explanation; empty for another issue
   */
  static Optional<String> of(String expression, CelIssue issue, Set<String> constants) {
    List<String> names =
        Arrays.stream(pathAt(expression, issue).split("\\."))
            .filter(name -> !name.isEmpty())
            .toList();
    if (names.isEmpty()) {
      return Optional.empty();
    }
    if (names.getFirst().equals(NodeFilter.NODE)) {
      return unknownField(names);
    }
    Set<String> known = new TreeSet<>(constants);
    known.add(NodeFilter.NODE);
    // If a path does not begin with the variable, this checks only the first name: the rest may
    // belong to a variable of a macro, whose type only CEL knows.
    String first = names.getFirst();
    return known.contains(first) || !line(expression, issue).startsWith(first, column(issue))
        ? Optional.empty()
        : Optional.of(unknown(first, known));
  }

  /** Returns the names, joined by dots, at or just after the position that CEL reports. */
  private static String pathAt(String expression, CelIssue issue) {
    String line = line(expression, issue);
    int begin = Math.min(column(issue), line.length());
    if (begin < line.length() && line.charAt(begin) == '(') {
      // The macro has(node.field): CEL points at the parenthesis before its argument.
      begin++;
    }
    int end = begin;
    while (begin > 0 && isOfPath(line.charAt(begin - 1))) {
      begin--;
    }
    while (end < line.length() && isOfPath(line.charAt(end))) {
      end++;
    }
    return line.substring(begin, end);
  }

  private static String line(String expression, CelIssue issue) {
    int line = issue.getSourceLocation().getLine();
    return expression.lines().skip(Math.max(0, line - 1)).findFirst().orElse("");
  }

  private static int column(CelIssue issue) {
    return Math.max(0, issue.getSourceLocation().getColumn());
  }

  private static boolean isOfPath(char letter) {
    return Character.isLetterOrDigit(letter) || letter == '_' || letter == '.';
  }

  private static Optional<String> unknownField(List<String> path) {
    Descriptor message = NodeFilter.TYPE;
    for (String name : path.subList(1, path.size())) {
      FieldDescriptor field = message.findFieldByName(name);
      if (field == null) {
        List<String> known =
            message.getFields().stream().map(FieldDescriptor::getName).sorted().toList();
        return Optional.of(unknown(name, known));
      }
      if (field.getJavaType() != FieldDescriptor.JavaType.MESSAGE || field.isRepeated()) {
        return Optional.empty();
      }
      message = field.getMessageType();
    }
    return Optional.empty();
  }

  private static String unknown(String name, Collection<String> known) {
    return "\"%s\" is unknown%s".formatted(name, DidYouMean.among(name, known));
  }
}
