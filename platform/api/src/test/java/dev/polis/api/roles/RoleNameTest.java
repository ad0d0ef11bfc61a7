package dev.polis.api.roles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.wire.common.NodeRoles;
import dev.polis.wire.common.NodeStatus;
import dev.polis.wire.roles.Role;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RoleNameTest {

  private static final RoleName BACKUP = new RoleName("NightlyBackup");

  @ParameterizedTest
  @ValueSource(strings = {"A", "KubernetesWorker", "NightlyBackup2"})
  @DisplayName("a name of letters and digits that begins with a capital is accepted")
  void good(String text) {
    assertEquals(text, new RoleName(text).toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "backup", "2Backups", "Night-Backup", "Night Backup", "Sauvegardé", "A\n"})
  @DisplayName("a malformed role name is refused with the grammar and an example")
  void malformed(String text) {
    String refusal =
        assertThrows(IllegalArgumentException.class, () -> new RoleName(text)).getMessage();
    assertTrue(
        refusal.startsWith("\"" + text + "\" is not the name of a role: use 1 to 63"), refusal);
    assertTrue(refusal.contains("as in KubernetesWorker"), refusal);
  }

  @Test
  @DisplayName("a name of 63 characters is accepted, a longer one refused")
  void length() {
    assertEquals(63, new RoleName("A".repeat(63)).text().length());
    assertTrue(RoleName.problemOf("A".repeat(64)).isPresent());
  }

  @ParameterizedTest
  @ValueSource(strings = {"Kubernetesworker", "KUBERNETESWORKER"})
  @DisplayName("another spelling of a well-known name is refused with the right one")
  void misspelt(String text) {
    assertEquals(
        Optional.of("is not the name of a role: did you mean KubernetesWorker?"),
        RoleName.problemOf(text));
  }

  @Test
  @DisplayName("a record lists roles with a field of their own and all others")
  void record() {
    NodeRoles record =
        RoleRecord.of(List.of(BACKUP, RoleName.KUBERNETES_WORKER, RoleName.CONSENSUS_MEMBER));
    assertTrue(record.hasKubernetesWorker() && record.hasConsensusMember());
    assertEquals(1, record.getOthersCount());
    assertEquals(
        new TreeSet<>(List.of(RoleName.CONSENSUS_MEMBER, RoleName.KUBERNETES_WORKER, BACKUP)),
        RoleRecord.names(record));
  }

  @Test
  @DisplayName("malformed names in a record are listed separately and do not hide the valid ones")
  void malformedInRecord() {
    NodeRoles record =
        RoleRecord.of(List.of(BACKUP)).toBuilder()
            .addOthers(Role.newBuilder().setName("from/the future"))
            .build();
    assertEquals(List.of("from/the future"), RoleRecord.malformed(record));
    assertEquals(new TreeSet<>(List.of(BACKUP)), RoleRecord.names(record));
  }

  @Test
  @DisplayName("a node without a report of its roles is distinguished from one that runs none")
  void running() {
    assertEquals(Optional.empty(), RoleRecord.running(NodeStatus.getDefaultInstance()));
    assertEquals(
        Optional.of(new TreeSet<>()),
        RoleRecord.running(
            NodeStatus.newBuilder().setRunningRoles(RoleRecord.running(List.of())).build()));
  }
}
