package dev.polis.api.curator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NodeLabelsTest {

  @ParameterizedTest
  @ValueSource(strings = {"foo", "foo-bar.baz_barfoo", "example.com/annotation"})
  @DisplayName("LBL-01 well-formed keys")
  void lbl01_wellFormedKeys(String key) {
    assertEquals(Optional.empty(), NodeLabels.problemOfKey(key));
  }

  @ParameterizedTest
  @CsvSource({
    "'', is empty",
    "example.com/, is empty",
    "-foo, must begin and end",
    "foo-, must begin and end",
    "/x, its domain is empty",
    "ex_ample.com/x, its domain has the part",
    ".example.com/x, its domain has an empty part",
    "example.com./x, its domain has an empty part",
    "example.com:80/x, its domain has the part",
    "1.2.3.4/x, its domain ends in the number",
    "a/b/c, more than one slash"
  })
  @DisplayName("LBL-01 each malformed key has its own reason")
  void lbl01_malformedKeys(String key, String reason) {
    String problem = NodeLabels.problemOfKey(key).orElse("accepted");
    assertTrue(problem.contains(reason), () -> key + ": " + problem);
  }

  @Test
  @DisplayName("LBL-01 lengths of names and values")
  void lbl01_lengths() {
    assertEquals(Optional.empty(), NodeLabels.problemOfKey("a".repeat(63)));
    assertTrue(NodeLabels.problemOfKey("a".repeat(64)).orElse("").contains("64 characters"));
    assertEquals(Optional.empty(), NodeLabels.problemOfValue(""));
    assertEquals(Optional.empty(), NodeLabels.problemOfValue("v".repeat(63)));
    assertTrue(NodeLabels.problemOfValue("v".repeat(64)).isPresent());
    assertTrue(NodeLabels.problemOfValue("a/b").isPresent());
  }

  @ParameterizedTest
  @ValueSource(strings = {"example.com", "a", "1.2.3.1a1", "cluster.internal", "0xg"})
  @DisplayName("LBL-02 well-formed domain names")
  void lbl02_wellFormedDomains(String name) {
    assertEquals(Optional.empty(), DomainNames.problem(name));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", ".a", "a.", "a..b", "a_b", "-a", "a-", "a.-b", "1.2.3.4", "a.0x1f", "a.0x"})
  @DisplayName("LBL-02 malformed domain names")
  void lbl02_malformedDomains(String name) {
    assertTrue(DomainNames.problem(name).isPresent(), name);
  }

  @Test
  @DisplayName("LBL-02 lengths of domain names")
  void lbl02_lengths() {
    String label = "a".repeat(63);
    String longest = String.join(".", label, label, label, "b".repeat(61));
    assertEquals(253, longest.length());
    assertEquals(Optional.empty(), DomainNames.problem(longest));
    assertTrue(DomainNames.problem(longest + "c").orElse("").contains("254 characters"));
    assertTrue(DomainNames.problem(label + "a").orElse("").contains("part of 64"));
  }

  @Test
  @DisplayName("a cluster's domain is a domain name of at most 80 characters")
  void clusterDomains() {
    String longest = "a".repeat(63) + "." + "b".repeat(16);
    assertEquals(80, longest.length());
    assertEquals(Optional.empty(), DomainNames.problemOfCluster(longest));
    assertEquals(Optional.empty(), DomainNames.problem(longest + "b"));
    assertEquals(
        Optional.of("has 81 characters; 80 are allowed"),
        DomainNames.problemOfCluster(longest + "b"));
    assertTrue(DomainNames.problemOfCluster("a_b").isPresent());
    assertTrue(DomainNames.problemOfCluster("").isPresent());
  }

  @Test
  void givenTooManyLabels_thenTheCountIsNamed() {
    Map<String, String> pairs =
        IntStream.range(0, 129).boxed().collect(Collectors.toMap(i -> "l" + i, i -> "v"));
    var refused = assertThrows(IllegalArgumentException.class, () -> NodeLabels.of(pairs));
    assertTrue(refused.getMessage().startsWith("129 labels"), refused.getMessage());
  }
}
