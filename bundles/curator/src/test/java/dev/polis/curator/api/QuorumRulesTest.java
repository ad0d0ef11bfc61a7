package dev.polis.curator.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusVoter;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QuorumRulesTest {

  /** Makes voters of their names; those in lower case are down. */
  private static List<ConsensusVoter> voters(String names) {
    return names
        .chars()
        .mapToObj(name -> new ConsensusVoter("" + (char) name, Character.isUpperCase(name)))
        .toList();
  }

  private static Optional<String> problem(String node, String names) {
    return QuorumRules.problem(
        node,
        voters(names),
        voters(names).stream().map(ConsensusVoter::name).collect(Collectors.toSet()));
  }

  @ParameterizedTest
  @CsvSource({
    "A, AB, true", "A, ABC, true", "A, ABc, false", "c, ABc, true", "A, ABCd, true",
    "d, ABCd, true", "A, ABCDE, true", "A, ABCde, false", "d, ABCde, true", "A, A, false",
  })
  @DisplayName("a voter may go if the others keep a quorum of voters that are up")
  void quorum(String node, String names, boolean may) {
    assertEquals(may, problem(node, names).isEmpty(), () -> problem(node, names).orElse("it may"));
  }

  @Test
  @DisplayName("the refusal counts the voters and names the only ones that may go")
  void names() {
    assertEquals(
        Optional.of(
            "2 of 3 voters up: without node A, 1 of 2 would be up, and etcd needs 2; c may go, no other may: start that node, or take the role from it first"),
        problem("A", "ABc"));
    assertTrue(problem("B", "ABCde").orElseThrow().contains("d and e may go, no other may"));
    assertTrue(problem("A", "A").orElseThrow().contains("only ConsensusMember"));
  }

  @Test
  @DisplayName("a node leaves only after the one that leaves already")
  void oneAtATime() {
    assertTrue(
        QuorumRules.problem("A", voters("ABC"), Set.of("A", "B")).orElseThrow().contains("node C"));
  }

  @Test
  @DisplayName("a node without a vote may always go")
  void learner() {
    assertEquals(Optional.empty(), problem("X", "ABc"));
  }
}
