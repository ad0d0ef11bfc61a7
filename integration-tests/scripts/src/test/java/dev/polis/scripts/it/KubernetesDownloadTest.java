package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.SmallDisk;
import dev.polis.scripts.it.FaultyDownloads.Fault;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Downloads Kubernetes' official releases from a faulty server. */
@Tag("full")
class KubernetesDownloadTest {

  private static final String RELEASE = "kubernetes-server-linux-amd64.tar.gz";

  /** Padding that makes the release large enough to be cut off: bytes that gzip cannot compress. */
  private static final int PADDING = 300_000;

  private static final int BROKEN_OFF = 1000;

  @TempDir Path directory;
  private ScriptFolder scripts;
  private FaultyDownloads server;
  private String digests;

  @BeforeEach
  void packReleases() throws Exception {
    scripts = ScriptFolder.in(directory);
    server = new FaultyDownloads(directory);
    Map<String, String> versions = versions();
    FakeKubernetes fake = FakeKubernetes.of(versions.get("KUBERNETES"));
    String bin = "packed/k/kubernetes/server/bin";
    fake.write(scripts, bin, ScriptFolder.KUBERNETES_PROGRAMS.subList(0, 6));
    byte[] padding = new byte[PADDING];
    new Random(1).nextBytes(padding);
    Files.write(scripts.path(bin + "/kube-apiserver.tar"), padding);
    fake.write(scripts, "packed/c/bin", List.of("containerd", "containerd-shim-runc-v2", "ctr"));
    fake.write(scripts, "packed/d", List.of("coredns"));
    fake.write(scripts, "packed/n", ScriptFolder.CNI_PROGRAMS);
    String containerd =
        pack("c", "containerd-%s-linux-amd64.tar.gz".formatted(versions.get("CONTAINERD")));
    String coredns = pack("d", "coredns_%s_linux_amd64.tgz".formatted(versions.get("COREDNS")));
    String cni = pack("n", "cni-plugins-linux-amd64-v%s.tgz".formatted(versions.get("CNI")));
    pack("k", RELEASE);
    server.serve(
        RELEASE + ".sha512",
        FaultyDownloads.bytes(digest("SHA-512", server.content(RELEASE)) + "\n"));
    digests =
        FakeKubernetes.TOOLS
            + """
            CONTAINERD_DIGEST=%s
            COREDNS_DIGEST=%s
            CNI_DIGEST=%s
            KUBERNETES_ROOM_DOWNLOADS=0
            FETCH_PAUSE=0
            FETCH_PROGRESS=100000
            POLIS_KUBERNETES_UNVERIFIED=yes
            export CURL_CA_BUNDLE=%s
            """
                .formatted(containerd, coredns, cni, server.authority())
            + Stream.of("KUBERNETES", "CONTAINERD", "CNI", "COREDNS")
                .map(part -> "export POLIS_%s_URL=%s/%s\n".formatted(part, server.url(), part))
                .reduce("", String::concat);
  }

  @AfterEach
  void stopServer() {
    server.close();
  }

  @Test
  @DisplayName(
      "the releases are downloaded once, verified and checked, and the archives are deleted")
  void download() throws Exception {
    Finished run = provide("");

    assertEquals(provided() + "\n", run.requireSuccess("all is well").out());
    assertEquals(5, server.requests().size(), server.requests()::toString);
    assertFalse(Files.exists(scripts.path(".polis/kubernetes-downloads")));
    assertTrue(run.err().contains("according to its server; ./polis keeps it in "), run::all);

    assertEquals(run.out(), provide("").requireSuccess("it is there").out());
    assertEquals(5, server.requests().size(), server.requests()::toString);
  }

  @Test
  @DisplayName(
      "a download with another digest is refused with both digests, and nothing is unpacked")
  void wrongDigest() throws Exception {
    String other = "0".repeat(128);
    Finished run = provide("KUBERNETES_DIGEST=" + other + "\n");

    refused(run, "has the SHA512 " + digest("SHA-512", server.content(RELEASE)));
    assertTrue(run.err().contains("and not " + other), run::all);
    assertTrue(run.err().contains("has unpacked nothing"), run::all);
    assertFalse(Files.exists(part()), "a wrong file is not kept");
  }

  @Test
  @DisplayName("the digest of the first use stays required when the server changes it later")
  void changedRelease() throws Exception {
    String first = digest("SHA-512", server.content(RELEASE));
    provide("").requireSuccess("the first use");
    deleteProvided();
    server.serve(RELEASE, FaultyDownloads.bytes("another release"));
    server.serve(
        RELEASE + ".sha512",
        FaultyDownloads.bytes(digest("SHA-512", FaultyDownloads.bytes("another release"))));
    Finished run = provide("");

    refused(run, "and not " + first);
  }

  @Test
  @DisplayName("a release without a given digest is not fetched unless the operator allows it")
  void withoutDigest() throws Exception {
    Finished run = provide("unset POLIS_KUBERNETES_UNVERIFIED\n");

    refused(run, "this repository has no digest of");
    assertTrue(run.err().contains("--sha256"), run::all);
    assertEquals(List.of(), server.requests());

    refused(provide("POLIS_KUBERNETES_SHA256=abc\n"), "\"abc\" is not a SHA-256");
  }

  @Test
  @DisplayName("a release must have the digest that the operator gives")
  void operatorsDigest() throws Exception {
    String unset = "unset POLIS_KUBERNETES_UNVERIFIED\nPOLIS_KUBERNETES_SHA256=";
    refused(provide(unset + "0".repeat(64) + "\n"), "and not " + "0".repeat(64));

    provide(unset + digest("SHA-256", server.content(RELEASE)) + "\n")
        .requireSuccess("the digest is right");
    assertFalse(
        server.requests().stream().anyMatch(each -> each.contains(".sha512")),
        server.requests()::toString);
  }

  @Test
  @DisplayName("a download that is cut off continues at the same place, within one call")
  void cutOff() throws Exception {
    server.fail(RELEASE, Fault.CUT_OFF, 3);
    Finished run = provide("");

    run.requireSuccess("it was cut off three times");
    List<String> tries =
        server.requests().stream().filter(each -> each.startsWith(RELEASE + " ")).toList();
    assertEquals(3, tries.size(), server.requests()::toString);
    assertTrue(tries.getFirst().startsWith(RELEASE + " bytes="), tries::toString);
  }

  @Test
  @DisplayName("a download without progress is given up, and the next call continues it")
  void cutOffForEver() throws Exception {
    server.fail(RELEASE, Fault.CUT_OFF, Integer.MAX_VALUE);
    Finished run = provide("");
    refused(run, "could not be fetched in 5 tries; ");
    long had = Files.size(part());
    assertTrue(had > 0, run::all);

    server.recover();
    provide("").requireSuccess("the server is well again");
    assertEquals(RELEASE + " bytes=" + had + "-", server.requests().getLast());
  }

  @Test
  @DisplayName("a partial download of another file is discarded, and the file is fetched anew")
  void remainderOfAnotherFile() throws Exception {
    Files.createDirectories(part().getParent());
    Files.write(part(), new byte[BROKEN_OFF]);
    Finished run = provide("");

    run.requireSuccess("it is fetched anew");
    assertTrue(
        run.err().contains("does not continue the %d bytes".formatted(BROKEN_OFF)), run::all);
    assertEquals(
        List.of(RELEASE + " bytes=" + BROKEN_OFF + "-", RELEASE),
        server.requests().subList(server.requests().size() - 2, server.requests().size()));
  }

  @Test
  @DisplayName("from a server without support for ranges the whole file is requested")
  void noRanges() throws Exception {
    Files.createDirectories(part().getParent());
    Files.write(part(), new byte[BROKEN_OFF]);
    server.fail(RELEASE, Fault.NO_RANGES, Integer.MAX_VALUE);

    provide("").requireSuccess("it is fetched as a whole");
  }

  @Test
  @DisplayName("a file that was complete when its process was killed is not fetched again")
  void wholeButNotNamed() throws Exception {
    Files.createDirectories(part().getParent());
    Files.write(part(), server.content(RELEASE));

    provide("").requireSuccess("it is whole");
    assertFalse(server.requests().contains(RELEASE), server.requests()::toString);
  }

  @Test
  @DisplayName(
      "a download from a server that is too slow is given up with the reason, and its bytes are kept")
  void tooSlow() throws Exception {
    server.fail(RELEASE, Fault.SLOW, Integer.MAX_VALUE);
    Finished run = provide("FETCH_SLOW_SECONDS=1\nFETCH_TRIES=2\n");

    refused(run, "sent fewer than 10000 bytes a second for 1 s, 2 times");
    assertTrue(Files.exists(part()), run::all);
  }

  @Test
  @DisplayName("a missing release, and a server without a trusted certificate, are refused")
  void missingAndUntrusted() throws Exception {
    server.fail(RELEASE, Fault.MISSING, Integer.MAX_VALUE);
    refused(provide(""), RELEASE + ": the server answers 404");

    refused(provide("unset CURL_CA_BUNDLE\n"), "this machine does not trust ");
    refused(
        provide("export POLIS_KUBERNETES_URL=http://localhost:1\n"),
        "give a URL that begins with https://");
  }

  @Test
  @DisplayName("missing space is reported before a download, with the needed and the free space")
  void noRoom() throws Exception {
    Needs.root("mounting a small disk");
    try (SmallDisk disk = SmallDisk.mounted(scripts.path(".polis"))) {
      disk.leave(3 << 20);
      Finished run = provide("KUBERNETES_ROOM_DOWNLOADS=7\n");

      refused(run, scripts.path(".polis") + " needs 7 MiB, and has ");
      assertEquals(List.of(), server.requests());
    }
  }

  @Test
  @DisplayName(
      "a disk that fills during the download, then during the unpacking, is reported; with space the next call continues")
  void diskFills() throws Exception {
    Needs.root("mounting a small disk");
    try (SmallDisk disk = SmallDisk.mounted(scripts.path(".polis"))) {
      disk.leave(PADDING / 2);
      refused(provide(""), "the disk of " + scripts.path(".polis"));
      long had = Files.size(part());
      assertTrue(had > 0, "the fetched part is kept");

      disk.leave(1 << 20);
      refused(provide(""), "the disk of " + scripts.path(".polis"));
      assertEquals(RELEASE + " bytes=" + had + "-", server.requests().getLast());
      int asked = server.requests().size();

      disk.leave(16 << 20);
      provide("").requireSuccess("there is room");
      assertEquals(asked, server.requests().size(), "all was fetched before");
    }
  }

  @Test
  @DisplayName(
      "the half unpacked programs of a killed call are never run, and the next call deletes them")
  void killedWhileUnpacking() throws Exception {
    Path left = scripts.path(".polis/kubernetes.abcdef.new");
    FakeKubernetes.of("1.36.3")
        .write(scripts, ".polis/kubernetes.abcdef.new/bin", List.of("kubelet"));
    FakeKubernetes.of("1.36.3")
        .write(
            scripts,
            ".polis/kubernetes-" + versions().get("KUBERNETES") + "/bin",
            List.of("kubelet"));

    assertEquals(provided() + "\n", provide("").requireSuccess("it is provided").out());
    assertFalse(Files.exists(left));
    assertTrue(Files.isExecutable(provided().resolve("bin/kube-proxy")));
  }

  private Finished provide(String settings) throws Exception {
    return scripts.functions(digests + settings + "kubernetes_folder $POLIS_CACHE");
  }

  private Path provided() throws Exception {
    return scripts.path(".polis/kubernetes-" + scripts.kubernetesVersion());
  }

  private void deleteProvided() throws Exception {
    scripts.finish(List.of("rm", "-rf", provided().toString())).requireSuccess("rm");
  }

  private Path part() {
    return scripts.path(".polis/kubernetes-downloads/kubernetes.tar.gz.part");
  }

  private void refused(Finished run, String words) throws Exception {
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().contains(words), () -> "expected: " + words + "\n" + run.all());
    assertTrue(run.err().contains("polis: next: "), run::all);
    assertEquals("", run.out());
    assertFalse(Files.exists(provided()), "programs after a refusal");
    try (Stream<Path> left = Files.list(scripts.path(".polis"))) {
      List<String> names = left.map(file -> file.getFileName().toString()).toList();
      assertFalse(names.stream().anyMatch(name -> name.endsWith(".new")), names::toString);
    }
  }

  private Map<String, String> versions() throws Exception {
    String text =
        scripts
            .functions(
                "for part in KUBERNETES CONTAINERD CNI COREDNS; do v=${part}_VERSION; echo ${!v}; done")
            .requireSuccess("the versions")
            .out();
    String[] versions = text.strip().split("\n");
    return Map.of(
        "KUBERNETES",
        versions[0],
        "CONTAINERD",
        versions[1],
        "CNI",
        versions[2],
        "COREDNS",
        versions[3]);
  }

  private String pack(String folder, String name) throws Exception {
    return server.pack(scripts, "packed/" + folder, name);
  }

  private static String digest(String algorithm, byte[] content) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance(algorithm).digest(content));
  }
}
