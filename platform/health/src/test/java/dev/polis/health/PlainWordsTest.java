package dev.polis.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlainWordsTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "IOException: the disk is gone; caused by IOException: the disk is gone|the disk is gone",
        "ConsensusException: etcd ended; caused by java.io.IOException: no space|etcd ended: no space",
        "CompletionException: java.net.ConnectException: refused by fe80::1%eth0|refused by fe80::1",
        "IOException: closed [id: 0x5f, L:/127.0.0.1:5] by the peer|closed by the peer",
        "SSLException: bad; caused by NullPointerException|bad",
        "NotDirectoryException: /x/audit|/x/audit is no directory",
        "IOException: outer; caused by java.nio.file.NoSuchFileException: /x|outer: /x is not there",
        "AccessDeniedException: /x: read|/x: read",
        "java.net.UnknownHostException: mirror|no address is known for the name mirror",
        "IOException: nft cannot be run: Cannot run program \"nft\": Exec failed, error: 2 (No such file or directory)|nft cannot be run: the program nft is not installed",
        "IOException: Cannot run program \"x\" (in directory \"/y\"): error=2, No such file|the program x is not installed",
        "NullPointerException|a defect of the program (NullPointerException)",
      })
  @DisplayName("a failure is described without exception types, internals of libraries and scopes")
  void plain(String failure, String words) {
    assertEquals(words, PlainWords.of(failure));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "write: No space left on device|free some space",
        "/x is on a read-only file system|mount the file system writable",
        "cannot make directory /x: something else is there: /x|move aside what is there",
        "the data is gone: /x holds no log. It is not made twice; restore it from a snapshot; it is started again|restore it from a snapshot",
        "client.port 1: process 5 (x) has it: end it, or set client.port; its log says: address already in use|end it, or set client.port",
        "cannot write /x: permission denied; give that user access; nothing was changed|give that user access",
        "no programs; run \"polis provision kubernetes\" and start it again|run \"polis provision",
        "cannot list /x: /x is a link to /y, which is not there; make it, or remove the link that leads there; nothing was changed|make it, or remove the link",
        "/x is mounted at /y already; unmount it; nothing was changed|unmount it",
        "nft cannot be run: the program nft is not installed|install that program",
        "/x/audit is no directory|move aside what is there",
        "open /x: no such file or directory|bring back what is missing",
        "/x is not there|bring back what is missing",
        "no address is known for the name mirror|repair the resolution of names",
        "dial tcp [::1]:2380: connect: cannot assign requested address|give an IPv4 address",
        "Cannot assign requested address: localhost/[0:0:0:0:0:0:0:1]:7835|give an IPv4 address",
        "dial tcp 10.0.0.7:2380: connect: cannot assign requested address|give the machine more local ports",
        "unable to create native thread: possibly out of memory|raise the limit of processes and threads",
        "/x/y: Not a directory|move aside what is there",
        "accept: Too many open files|raise the limit of descriptors",
        "bind: address already in use|end the program that listens there",
        "open /x: permission denied|give the user that runs the node access to it",
        "curator: etcdserver: permission denied|wait a minute: the node makes users",
        "x ended: killed by signal 9; a person or another program sent it, since the kernel was not out of memory|nothing if that was meant; else find the sender",
        "x ended: killed by signal 9; the kernel ended it: the cgroup /n is out of memory; raise its memory limit, or end what takes the memory there|raise its memory limit, or end",
        "Internal error: failed calling webhook \"policy.example\": failed to call webhook: Post https://policy.default.svc:443/?timeout=5s: service policy not found|bring the Service default/policy of the webhook policy.example back",
        "failed calling webhook \"a.b\": Post https://203.0.113.1/: EOF|start again what the webhook a.b calls; or delete",
        "makes no sandbox: failed to stat /c/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs: no such file or directory|bring the runtime's files back",
        "etcd at x: no answer: UNAVAILABLE (io exception), caused by SSLHandshakeException: Received fatal alert: certificate_expired|set the clock: ",
        "CertificateExpiredException: NotAfter: Sat Nov 28 04:00:00 UTC 2026|set the clock: ",
        "certificate expired on 2020-01-01|set the clock: ",
      })
  @DisplayName("a message of the system leads to a remedy")
  void remedy(String reason, String begin) {
    assertTrue(Remedies.of(reason).orElse("nothing").startsWith(begin), reason);
  }

  @Test
  @DisplayName("the reason of a condition is one line, without what the JDK guesses")
  void oneLine() {
    assertEquals(
        "Cannot run x: error: 24; it is started again",
        HealthCondition.down(
                "x",
                """
                Cannot run x: error: 24
                Possible reasons:
                  - Spawn helper was terminated
                Possible solutions:
                  - Switch to -Djdk.lang.Process.launchMechanism=FORK
                ; it is started again""",
                "")
            .reason());
  }
}
