package dev.polis.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import dev.polis.node.exit.Refusal;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.osgi.framework.BundleException;

class DiskRefusalTest {

  private final DiskRefusal refusal = new DiskRefusal(NodeDirectory.of(Path.of("/state")));

  @Test
  void givenAReadOnlyDiskBelowAFailure_thenThePlaceAndTheRemedyAreSaid() {
    var failure =
        new BundleException(
            "unable to cache", new FileSystemException("/state/x", null, "Read-only file system"));
    assertEquals(
        "/state/x can not be written, its file system is mounted read-only; mount it writable and"
            + " start the node again",
        refusal.of(failure).getMessage());
    assertSame(failure, refusal.of(failure).getCause());
  }

  @Test
  void givenAFullDiskThatIsNotNamed_thenTheStateDirectoryIs() {
    assertEquals(
        "/state can not be written, its file system is full; free some space there and start the"
            + " node again",
        refusal.of(new IOException("No space left on device")).getMessage());
  }

  @Test
  void givenAnythingElse_thenItIsLeftAsItIs() {
    var failure = new IOException("Input/output error");
    assertSame(failure, refusal.of(failure));
    var refused = new Refusal("no such option");
    assertSame(refused, refusal.of(refused));
  }
}
