package dev.polis.curator.api;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.api.consensus.ConsensusMember;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ConsensusMembersTest {

  private static ConsensusMember member(String name, String id, String address) {
    return new ConsensusMember(
        name, id, "c1", List.of("https://" + address + ":7834"), List.of(), false);
  }

  @Test
  @DisplayName("CUR-18 members of etcd without a node that has the role go, one after the other")
  void cur18_strays() {
    List<ConsensusMember> members =
        new ArrayList<>(
            List.of(
                member("self", "1", "127.0.0.1"),
                member("foo", "2", "127.0.0.2"),
                member("lost-its-role", "3", "127.0.0.3"),
                member("", "4", "127.0.0.4"),
                member("", "5", "127.0.0.5")));
    List<String> gone = new ArrayList<>();
    Optional<ConsensusMember> next = surplus(members);
    while (next.isPresent()) {
      gone.add(next.get().id());
      members.remove(next.get());
      next = surplus(members);
    }
    assertEquals(List.of("2", "3", "4"), gone, "a node that is invited keeps its place");
  }

  private static Optional<ConsensusMember> surplus(List<ConsensusMember> members) {
    return ConsensusMembers.surplus(
        members, Set.of("self", "invited"), Set.of("127.0.0.1", "127.0.0.5"));
  }
}
