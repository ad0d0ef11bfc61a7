package dev.polis.curator;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import dev.cel.common.CelContainer;
import dev.cel.common.CelIssue;
import dev.cel.common.CelValidationException;
import dev.cel.common.CelValidationResult;
import dev.cel.common.types.SimpleType;
import dev.cel.common.types.StructTypeReference;
import dev.cel.compiler.CelCompiler;
import dev.cel.compiler.CelCompilerBuilder;
import dev.cel.compiler.CelCompilerFactory;
import dev.cel.parser.CelStandardMacro;
import dev.cel.runtime.CelEvaluationException;
import dev.cel.runtime.CelRuntime;
import dev.cel.runtime.CelRuntimeFactory;
import dev.polis.config.DidYouMean;
import dev.polis.wire.api.Node;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * Chooses nodes by an operator's CEL expression over the variable {@code node}. The values of all
 * enums that a node's fields have are constants, under the names of the wire format.
 */
final class NodeFilter {

  private static final String NODE = "node";
  private static final Descriptor TYPE = Node.getDescriptor();
  private static final Map<String, Long> CONSTANTS = constants();
  private static final CelCompiler COMPILER = compiler();

  private NodeFilter() {}

  /**
   * Compiles an expression.
   *
   * @param expression CEL; empty chooses every node
   * @throws dev.polis.rpc.RpcException with INVALID_ARGUMENT if it is no boolean CEL expression; an
   *     unknown name is answered with the names that there are
   */
  static Predicate<Node> compile(String expression) {
    if (expression.isBlank()) {
      return node -> true;
    }
    CelValidationResult compiled = COMPILER.compile(expression);
    try {
      CelRuntime.Program program =
          CelRuntimeFactory.standardCelRuntimeBuilder()
              .addMessageTypes(TYPE)
              .build()
              .createProgram(compiled.getAst());
      return node -> matches(program, node, expression);
    } catch (CelValidationException | CelEvaluationException e) {
      throw compiled.getErrors().stream()
          .flatMap(issue -> unknownName(expression, issue).stream())
          .findFirst()
          .map(problem -> Refusal.invalid("filter \"%s\": %s", expression, problem))
          .orElseGet(() -> Refusal.invalid("filter \"%s\": %s", expression, e.getMessage()));
    }
  }

  private static CelCompiler compiler() {
    CelCompilerBuilder builder =
        CelCompilerFactory.standardCelCompilerBuilder()
            .setStandardMacros(CelStandardMacro.STANDARD_MACROS)
            .setContainer(CelContainer.ofName(TYPE.getFile().getPackage()))
            .addMessageTypes(TYPE)
            .addVar(NODE, StructTypeReference.create(TYPE.getFullName()))
            .setResultType(SimpleType.BOOL);
    CONSTANTS.keySet().forEach(name -> builder.addVar(name, SimpleType.INT));
    return builder.build();
  }

  private static Map<String, Long> constants() {
    Map<String, Long> constants = new TreeMap<>();
    collect(TYPE, new HashSet<>(), constants);
    return Map.copyOf(constants);
  }

  private static void collect(
      Descriptor message, Set<Descriptor> visited, Map<String, Long> constants) {
    if (!visited.add(message)) {
      return;
    }
    for (FieldDescriptor field : message.getFields()) {
      switch (field.getJavaType()) {
        case MESSAGE -> collect(field.getMessageType(), visited, constants);
        case ENUM -> collect(field.getEnumType(), constants);
        default -> {}
      }
    }
  }

  private static void collect(EnumDescriptor type, Map<String, Long> constants) {
    type.getValues().forEach(value -> constants.put(value.getName(), (long) value.getNumber()));
  }

  private static boolean matches(CelRuntime.Program program, Node node, String expression) {
    Map<String, Object> variables = new HashMap<>(CONSTANTS);
    variables.put(NODE, node);
    try {
      return Boolean.TRUE.equals(program.eval(variables));
    } catch (CelEvaluationException e) {
      throw Refusal.invalid(
          "filter \"%s\" cannot be applied to node %s: %s",
          expression, node.getId(), e.getMessage());
    }
  }

  /** Explains an issue that is about a name: of a constant, of the variable, or of a field. */
  private static Optional<String> unknownName(String expression, CelIssue issue) {
    List<String> names =
        Arrays.stream(pathAt(expression, issue).split("\\."))
            .filter(name -> !name.isEmpty())
            .toList();
    if (names.isEmpty()) {
      return Optional.empty();
    }
    if (names.getFirst().equals(NODE)) {
      return unknownField(names);
    }
    Set<String> known = new TreeSet<>(CONSTANTS.keySet());
    known.add(NODE);
    // Of a path that does not begin with the variable, only the first name is judged here: what
    // follows may belong to a variable of a macro, whose type is known to CEL alone.
    String first = names.getFirst();
    return known.contains(first) || !line(expression, issue).startsWith(first, column(issue))
        ? Optional.empty()
        : Optional.of(unknown(first, known));
  }

  /** Returns the names joined by dots that CEL points into, or just before. */
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
    Descriptor message = TYPE;
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
