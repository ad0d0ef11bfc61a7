package dev.polis.consensus;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.etcd.EtcdMember;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class MemberSetupTest {

  private static final EtcdMember ONE = member(1);
  private static final EtcdMember TWO = member(2);

  private static EtcdMember member(int id) {
    return new EtcdMember(
        id, "node-" + id, List.of("https://192.0.2." + id + ":7834"), List.of(), false);
  }

  @Test
  @DisplayName(
      "a member at the address of another one names that one and the address to go back to")
  void exchanged() {
    List<EtcdMember> members = List.of(ONE, TWO);
    String told =
        assertThrows(
                ConsensusException.class,
                () -> MemberSetup.requireFree(members, ONE, "https://192.0.2.2:7834"))
            .getMessage();
    assertTrue(told.contains("https://192.0.2.2:7834 for node-2"), told);
    assertTrue(told.contains("this one with 192.0.2.1"), told);

    MemberSetup.requireFree(members, ONE, "https://192.0.2.3:7834");
  }
}
