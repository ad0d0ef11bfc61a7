package dev.polis.curator;

import com.google.protobuf.ProtocolMessageEnum;
import dev.cel.common.CelValidationException;
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
import dev.polis.wire.common.NodeState;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * An operator's choice of nodes: a CEL expression over the variable {@code node}, with the names of
 * states and healths as constants.
 */
final class LeaderNodeFilter {

  private static final String NODE = "node";

  private LeaderNodeFilter() {}

  /**
   * Compiles an expression.
   *
   * @param expression CEL; empty chooses every node
   * @throws dev.polis.rpc.RpcException with INVALID_ARGUMENT if it is no boolean CEL expression
   */
  static Predicate<Node> compile(String expression) {
    if (expression.isBlank()) {
      return node -> true;
    }
    Map<String, Long> constants = constants();
    try {
      CelRuntime.Program program =
          CelRuntimeFactory.standardCelRuntimeBuilder()
              .addMessageTypes(Node.getDescriptor())
              .build()
              .createProgram(compiler(constants).compile(expression).getAst());
      return node -> matches(program, node, constants, expression);
    } catch (CelValidationException | CelEvaluationException e) {
      throw Refusal.invalid("filter \"%s\": %s", expression, e.getMessage());
    }
  }

  private static CelCompiler compiler(Map<String, Long> constants) {
    CelCompilerBuilder builder =
        CelCompilerFactory.standardCelCompilerBuilder()
            .setStandardMacros(CelStandardMacro.STANDARD_MACROS)
            .addMessageTypes(Node.getDescriptor())
            .addVar(NODE, StructTypeReference.create(Node.getDescriptor().getFullName()))
            .setResultType(SimpleType.BOOL);
    constants.keySet().forEach(name -> builder.addVar(name, SimpleType.INT));
    return builder.build();
  }

  private static Map<String, Long> constants() {
    Map<String, Long> constants = new HashMap<>();
    Stream.<ProtocolMessageEnum[]>of(NodeState.values(), Node.Health.values())
        .flatMap(Stream::of)
        .filter(value -> !value.toString().equals("UNRECOGNIZED"))
        .forEach(value -> constants.put(value.toString(), (long) value.getNumber()));
    return constants;
  }

  private static boolean matches(
      CelRuntime.Program program, Node node, Map<String, Long> constants, String expression) {
    Map<String, Object> variables = new HashMap<>(constants);
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
