package dev.polis.ctl.local;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.ctl.session.ClusterBase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalNodeTest {

  private static final String ID = "metropolis-" + "0".repeat(31);

  @TempDir Path base;

  @Test
  @DisplayName("the key of a node that answers no call from outside is read from its screen")
  void keyOnTheScreen() throws Exception {
    LocalNode node = new LocalNode(new ClusterBase(base), 2, "127.0.74.250");
    assertEquals(Optional.empty(), node.approval());

    Files.createDirectories(node.state());
    Files.writeString(
        node.log(),
        """
        waiting for approval by an operator (5.0 s): approve it at a member: polisctl node approve %1$s1 --key SHA256:old
        waiting for approval by an operator (9.0 s): approve it at a member: polisctl node approve %1$s2 --key SHA256:new
        """
            .formatted(ID));
    assertEquals(Optional.of(new LocalNode.Approval(ID + "2", "SHA256:new")), node.approval());
  }
}
