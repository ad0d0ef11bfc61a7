package dev.polis.ctl.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.wire.audit.KubernetesAuditRecord;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

final class KubernetesAuditReadingTest {

  private static String line(String text) {
    return KubernetesAuditReading.line(KubernetesAuditRecord.newBuilder().setText(text).build());
  }

  @Test
  @DisplayName("a record is one line with time, user, request, result and source")
  void record() {
    assertEquals(
        "2026-11-24T10:41:18.1Z owner create /api/v1/namespaces/a/pods 201 from 127.0.0.1 10.0.0.7",
        line(
            """
            {"kind": "Event", "level": "Metadata", "stage": "ResponseComplete", "verb": "create",
             "requestURI": "/api/v1/namespaces/a/pods", "user": {"username": "owner"},
             "sourceIPs": ["127.0.0.1", "10.0.0.7"], "responseStatus": {"code": 201},
             "stageTimestamp": "2026-11-24T10:41:18.1Z"}
            """));
  }

  @Test
  @DisplayName("another stage and an impersonated user are shown; a missing value is a dash")
  void others() {
    assertEquals(
        "- owner as jane watch /api - (ResponseStarted)",
        line(
            """
            {"stage": "ResponseStarted", "verb": "watch", "requestURI": "/api",
             "user": {"username": "owner"}, "impersonatedUser": {"username": "jane"}}
            """));
  }

  @Test
  @DisplayName("a name that a user chose cannot control the terminal or forge a line")
  void printable() {
    String line =
        line(
            "{\"stage\": \"ResponseComplete\", \"user\": {\"username\": \"a\\u001b[2J\\nb\\u009b\"}}");
    assertTrue(line.contains("a?[2J?b?"), line);
    assertTrue(line("\u001b[2J").startsWith("DAMAGED"), line("\u001b[2J"));
    assertTrue(line("\u001b[2J").endsWith("?[2J"), line("\u001b[2J"));
  }

  @Test
  @DisplayName("a shortened record shows its beginning")
  void cut() {
    String line =
        KubernetesAuditReading.line(
            KubernetesAuditRecord.newBuilder()
                .setText("{\"verb\":\"get\"," + "x".repeat(9_000))
                .setCut(7_000_000)
                .build());
    assertTrue(line.contains("more than 7000000 bytes begins with: {\"verb\":\"get\",xxx"), line);
    assertTrue(line.length() < 700, line);
  }
}
