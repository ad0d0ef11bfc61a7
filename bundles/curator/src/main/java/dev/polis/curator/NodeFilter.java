package dev.polis.curator;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import dev.cel.common.CelContainer;
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
import dev.polis.wire.api.Node;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * Selects nodes by an operator's CEL expression over the variable {@code node}. The values of all
 * enums among a node's fields are constants, under the names of the wire format.
 */
final class NodeFilter {

  static final String NODE = "node";
  static final Descriptor TYPE = Node.getDescriptor();
  private static final Map<String, Long> CONSTANTS = constants();
  private static final CelCompiler COMPILER = compiler();

  private NodeFilter() {}

  /**
   * Compiles an expression.
   *
   * @param expression CEL; empty selects every node
   * @throws dev.polis.rpc.RpcException with INVALID_ARGUMENT if it is not a boolean CEL expression;
   *     the refusal of an unknown name lists the names that exist
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
          .flatMap(issue -> NodeFilterDiagnosis.of(expression, issue, CONSTANTS.keySet()).stream())
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
}
