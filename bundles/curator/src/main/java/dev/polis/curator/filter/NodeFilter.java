package dev.polis.curator.filter;

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
import dev.polis.curator.record.Refusal;
import dev.polis.rpc.RpcException;
import dev.polis.wire.api.Node;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Selects nodes by an operator's CEL expression over the variable {@code node}. The values of all
 * enums among a node's fields are constants, under the names of the wire format.
 *
 * <p>A short expression can need more than a machine has. So {@link NodeFilterLimits} refuses some
 * before the compiler gets them, and {@link FilterBudget} ends others during the evaluation. The
 * rest occupies a processor for at most two seconds, so it belongs on {@link
 * dev.polis.rpc.ComputingThreads}.
 */
public final class NodeFilter {

  static final String NODE = "node";
  static final Descriptor TYPE = Node.getDescriptor();
  private static final Map<String, Long> CONSTANTS = constants();
  private static final CelCompiler COMPILER = compiler();
  private static final CelRuntime RUNTIME =
      CelRuntimeFactory.standardCelRuntimeBuilder()
          .setOptions(NodeFilterLimits.OPTIONS)
          .addMessageTypes(TYPE)
          .build();

  private final String expression;
  private final CelRuntime.Program program;

  private NodeFilter(String expression, CelRuntime.Program program) {
    this.expression = expression;
    this.program = program;
  }

  /**
   * Compiles an expression.
   *
   * @param expression CEL, not blank
   * @throws dev.polis.rpc.RpcException with INVALID_ARGUMENT if it is not a boolean CEL expression
   *     or is too large; the refusal of an unknown name lists the names that exist
   */
  public static NodeFilter compile(String expression) {
    CelValidationResult result = COMPILER.parse(expression);
    try {
      NodeFilterLimits.problem(result.getAst())
          .ifPresent(
              problem -> {
                throw tooExpensive(expression, problem);
              });
      result = COMPILER.check(result.getAst());
      return new NodeFilter(expression, RUNTIME.createProgram(result.getAst()));
    } catch (CelValidationException | CelEvaluationException e) {
      if (result.getErrors().stream().anyMatch(NodeFilterLimits::isLimit)) {
        throw tooExpensive(expression, NodeFilterLimits.SIZE);
      }
      throw result.getErrors().stream()
          .flatMap(issue -> NodeFilterDiagnosis.of(expression, issue, CONSTANTS.keySet()).stream())
          .findFirst()
          .map(problem -> Refusal.invalid("filter \"%s\": %s", expression, problem))
          .orElseGet(() -> Refusal.invalid("filter \"%s\": %s", expression, e.getMessage()));
    }
  }

  private static RpcException tooExpensive(String expression, String problem) {
    return Refusal.invalid("filter \"%s\" is too expensive: %s", expression, problem);
  }

  private static CelCompiler compiler() {
    CelCompilerBuilder builder =
        CelCompilerFactory.standardCelCompilerBuilder()
            .setOptions(NodeFilterLimits.OPTIONS)
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

  /**
   * Returns the nodes for which the expression is true, in their order.
   *
   * @throws dev.polis.rpc.RpcException with INVALID_ARGUMENT if the expression has no boolean value
   *     for a node, or takes too long
   * @throws InterruptedException if the thread is interrupted
   */
  public List<Node> pick(List<Node> nodes) throws InterruptedException {
    FilterBudget budget = new FilterBudget();
    List<Node> picked = new ArrayList<>();
    for (Node node : nodes) {
      if (matches(node, budget)) {
        picked.add(node);
      }
    }
    return picked;
  }

  private boolean matches(Node node, FilterBudget budget) throws InterruptedException {
    Map<String, Object> variables = new HashMap<>(CONSTANTS);
    variables.put(NODE, node);
    budget.begin();
    try {
      boolean result = Boolean.TRUE.equals(program.trace(variables, budget));
      requireKept(budget, node);
      return result;
    } catch (CelEvaluationException e) {
      requireKept(budget, node);
      throw Refusal.invalid(
          "filter \"%s\" fails at node %s: %s", expression, node.getId(), e.getMessage());
    }
  }

  /**
   * Throws if the budget is exceeded: CEL takes the budget's exception for an error of a part, and
   * may compute a result without that part.
   */
  private void requireKept(FilterBudget budget, Node node) throws InterruptedException {
    budget
        .problem()
        .ifPresent(
            problem -> {
              throw tooExpensive(expression, "at node %s %s".formatted(node.getId(), problem));
            });
  }
}
