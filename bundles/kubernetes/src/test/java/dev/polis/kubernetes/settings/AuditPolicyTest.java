package dev.polis.kubernetes.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import dev.polis.api.kubernetes.KubernetesNames;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AuditPolicyTest {

  @Test
  @DisplayName("the standard policy is accepted, and its only level beside None is Metadata")
  void standard() {
    AuditPolicy.checked(AuditPolicy.STANDARD);
    assertTrue(AuditPolicy.STANDARD.contains("\"Metadata\""));
    assertTrue(!AuditPolicy.STANDARD.contains("\"Request\""));
    assertTrue(!AuditPolicy.STANDARD.contains("\"RequestResponse\""));
  }

  @ParameterizedTest
  @ValueSource(strings = {KubernetesNames.GROUP_NODES, KubernetesNames.GROUP_CSI_PROVISIONER})
  @DisplayName(
      "the standard policy leaves out the constant reads of a worker, by the kubelet and by the provisioner")
  void routine(String group) {
    boolean left =
        JsonParser.parseString(AuditPolicy.STANDARD)
            .getAsJsonObject()
            .getAsJsonArray("rules")
            .asList()
            .stream()
            .map(JsonElement::getAsJsonObject)
            .filter(rule -> rule.get("level").getAsString().equals("None") && rule.has("verbs"))
            .filter(rule -> rule.has("userGroups") && !rule.has("resources"))
            .anyMatch(rule -> rule.getAsJsonArray("userGroups").contains(new JsonPrimitive(group)));
    assertTrue(left, AuditPolicy.STANDARD);
  }

  @Test
  @DisplayName("apiVersion and kind may be left out, and nothing of the rules is changed")
  void completed() {
    String rules =
        "[{\"level\":\"Request\",\"verbs\":[\"create\"],\"namespaces\":[\"a\",\"\"],"
            + "\"resources\":[{\"group\":\"apps\",\"resources\":[\"deployments\"],\"resourceNames\":[\"d\"]}],"
            + "\"omitStages\":[\"Panic\"],\"omitManagedFields\":true},"
            + "{\"level\":\"None\",\"nonResourceURLs\":[\"*\",\"/healthz*\"]}]";
    JsonObject checked =
        JsonParser.parseString(AuditPolicy.checked("{\"rules\": " + rules + "}")).getAsJsonObject();

    assertEquals("audit.k8s.io/v1", checked.get("apiVersion").getAsString());
    assertEquals("Policy", checked.get("kind").getAsString());
    assertEquals(JsonParser.parseString(rules), checked.get("rules"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          rules: []                                           | not JSON
          {"rules": [{"level": "None"}]} {}                   | not JSON at line 1 column 3
          []                                                  | write a JSON object
          {}                                                  | no rules
          {"rules": []}                                       | no rules
          {"rules": {}}                                       | write a list
          {"rule": []}                                        | did you mean "rules"?
          {"apiVersion": "audit.k8s.io/v1beta1"}              | must be "audit.k8s.io/v1"
          {"kind": "AuditPolicy"}                             | must be "Policy"
          {"omitStages": ["Received"]}                        | "Received"
          {"rules": [{"level": "None"}, {}]}                  | no level in rule 2
          {"rules": [{"level": "metadata"}]}                  | did you mean "Metadata"?
          {"rules": [{"level": 1}]}                           | 1 in rule 1
          {"rules": [{"level": "None", "user": ["a"]}]}       | did you mean "users"?
          {"rules": [{"level": "None", "users": "a"}]}        | write a list
          {"rules": [{"level": "None", "users": [null]}]}     | write a string
          {"rules": [{"level": "None", "nonResourceURLs": ["healthz"]}]}        | begin it with '/'
          {"rules": [{"level": "None", "nonResourceURLs": ["/a*b"]}]}           | only at its end
          {"rules": [{"level": "None", "nonResourceURLs": ["/a"], "namespaces": ["b"]}]} | make two rules
          {"rules": [{"level": "None", "resources": [{"group": "apps/v1"}]}]}   | without a version
          {"rules": [{"level": "None", "resources": [{"resourceNames": ["a"]}]}]} | name the resources
          {"rules": [{"level": "None", "omitManagedFields": "yes"}]}            | true or false
          """)
  @DisplayName(
      "a policy that the API server would refuse or ignore in part is refused with the value and its place")
  void refused(String policy, String words) {
    String refusal =
        assertThrows(IllegalArgumentException.class, () -> AuditPolicy.checked(policy))
            .getMessage();
    assertTrue(refusal.contains(words), refusal);
    assertTrue(!refusal.contains("gson") && !refusal.contains("Strictness"), refusal);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 1001})
  @DisplayName("a number of files that makes space or the folder unbounded is refused")
  void files(int files) {
    String refusal =
        assertThrows(
                IllegalArgumentException.class,
                () -> new AuditSettings(AuditPolicy.STANDARD, files, 16))
            .getMessage();
    assertTrue(refusal.contains("dev.polis.kubernetes.audit.files is \"" + files), refusal);
  }
}
