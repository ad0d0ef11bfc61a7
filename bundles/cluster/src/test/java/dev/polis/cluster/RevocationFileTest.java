package dev.polis.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.FilePlacement;
import dev.polis.files.layout.Root;
import dev.polis.fixtures.Await;
import dev.polis.logtree.LogTree;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.Crl;
import dev.polis.rpc.RpcRevocations;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RevocationFileTest {

  private static final Duration SOON = Duration.ofSeconds(10);

  @TempDir Path directory;

  private final CertificateAuthority authority = CertificateAuthority.create("test cluster");

  private FilePlacement placement() {
    return Root.at(directory).data().node().credentials().revocations();
  }

  private RevocationFile file() {
    return new RevocationFile(placement());
  }

  private Crl list(long number) {
    return authority.revocationList(
        BigInteger.valueOf(number), List.of(BigInteger.valueOf(40 + number)));
  }

  private String whyUnknown() {
    return assertInstanceOf(
            RpcRevocations.Unknown.class,
            file().read(CaBundle.of(authority.certificate())),
            "it is taken")
        .reason();
  }

  @Test
  @DisplayName("a list that was written is read again")
  void written() throws Exception {
    placement().write(list(1).der());
    assertEquals(new RpcRevocations.Known(list(1)).list().serials(), known().serials());
  }

  private Crl known() {
    return assertInstanceOf(
            RpcRevocations.Known.class, file().read(CaBundle.of(authority.certificate())))
        .list();
  }

  @Test
  @DisplayName("a missing list is unknown and not empty")
  void missing() {
    assertEquals(placement().path() + " is missing", whyUnknown());
  }

  @Test
  @Tag("attack")
  @DisplayName("a list that is cut or has any byte changed is unknown, and its file is named")
  void damaged() throws Exception {
    byte[] whole = list(1).der();
    for (int length = 0; length < whole.length; length += 7) {
      placement().write(Arrays.copyOf(whole, length));
      assertTrue(whyUnknown().startsWith(placement().path() + " is damaged"), whyUnknown());
    }
    for (int at = 0; at < whole.length; at++) {
      byte[] changed = whole.clone();
      changed[at] ^= 0x10;
      placement().write(changed);
      assertTrue(whyUnknown().contains(placement().path().toString()), "byte " + at);
    }
  }

  @Test
  @Tag("attack")
  @DisplayName("a list of another cluster is unknown")
  void foreign() throws Exception {
    CertificateAuthority other = CertificateAuthority.create("another cluster");
    placement().write(other.revocationList(BigInteger.TWO, List.of()).der());
    assertTrue(whyUnknown().contains("is not signed by"), whyUnknown());
  }

  @Test
  @DisplayName("each list that the node learns is written, and a damaged one is replaced")
  void followed() throws Exception {
    placement().write(new byte[] {1, 2, 3});
    RecordingOrgans recording = new RecordingOrgans(directory, "");
    EnrolmentOrgans organs = recording.organs(SOON);
    TestContext context = new TestContext(LogTree.create().log("revocations"));
    Thread thread =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    organs.revocations().follow(organs.rpc(), context);
                  } catch (Exception stopped) {
                    // The end of the test interrupts it, perhaps in the middle of a write.
                    Thread.currentThread().interrupt();
                  }
                });
    try {
      for (long number = 1; number <= 3; number++) {
        byte[] der = list(number).der();
        recording.revocations.set(new RpcRevocations.Known(Crl.parse(der)));
        Await.until(
            SOON,
            "list " + number + " to be on the disk",
            () -> Arrays.equals(der, Files.readAllBytes(placement().path())));
      }
    } finally {
      thread.interrupt();
      thread.join(SOON);
    }
  }
}
