package dev.polis.node.cleanup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.process.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Removes the remains of a sandbox whose node was killed, made here from the kernel's own parts.
 */
class SandboxRemainsTest {

  private static final String NAME = "polis-" + Long.toString(ProcessHandle.current().pid(), 36);

  /** Addresses of the range for tests of networks. */
  private static final String ADDRESS = "198.19.255.250";

  private static final String ADDRESS_OF_RULES = "198.19.255.249";

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @TempDir Path data;
  private final List<String> said = new ArrayList<>();
  private SandboxRemains remains;

  @BeforeEach
  void lookAtData() {
    remains = new SandboxRemains(data, said::add);
  }

  @Test
  @DisplayName("a node without a sandbox has nothing to remove")
  void nothing() throws Exception {
    assertEquals(List.of(), remains.remove());
    assertEquals(List.of(), said);
  }

  @Test
  @DisplayName("the entries of a record from an earlier boot are left alone")
  void anotherBoot() throws Exception {
    record("another", NAME, "mnt:[1]", "net:[1]");

    assertEquals(List.of(), remains.remove());
    assertEquals(List.of(), said);
  }

  @Test
  @DisplayName("a damaged record is reported, since it hides the remains")
  void damaged() throws Exception {
    Path record = data.resolve("containers/sandbox.json");
    Files.createDirectories(record.getParent());
    Files.writeString(record, "{");

    assertEquals(
        List.of(record + " is damaged, so the remains of the sandbox are unknown"),
        remains.remove());
  }

  @Test
  @DisplayName("an unreadable record is reported, since its entries may still exist")
  void unreadable() throws Exception {
    Path containers = data.resolve("containers");
    Path addresses = data.resolve("kubernetes-address");
    // A link to itself fails for root, too.
    Files.createSymbolicLink(containers, containers);
    Files.createSymbolicLink(addresses, addresses);

    List<String> left = remains.remove();

    assertEquals(2, left.size(), left::toString);
    assertTrue(left.get(0).startsWith(containers + "/sandbox.json cannot be read"), left.get(0));
    assertTrue(left.get(1).startsWith(addresses + " cannot be read"), left.get(1));
  }

  @Test
  @DisplayName("processes in the namespaces, the device, the addresses and the cgroups are removed")
  void everything() throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"),
        "a sandbox is made of namespaces, which needs root");
    Process inside = inside(NAME);
    try {
      assertEquals('i', inside.getInputStream().read());
      run("ip", "link", "add", NAME, "type", "veth", "peer", "name", NAME + "p");
      run("ip", "address", "add", ADDRESS + "/32", "dev", "lo");
      Path cgroup = Path.of("/sys/fs/cgroup/pids", NAME);
      assumeTrue(Files.isDirectory(cgroup.getParent()), "there is no cgroup hierarchy pids here");
      Files.createDirectories(cgroup.resolve("pod/container"));
      String boot = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
      record(boot, NAME, namespace(inside, "mnt"), namespace(inside, "net"));
      Files.createDirectories(data.resolve("kubernetes-address"));
      Files.writeString(data.resolve("kubernetes-address/worker"), ADDRESS + "\n/nowhere\n");

      assertEquals(List.of(), remains.remove());
      assertTrue(inside.waitFor(20, TimeUnit.SECONDS), "the process inside lives");
      assertFalse(Files.exists(cgroup));
      assertFalse(
          new Commands().run(PATIENCE, List.of("ip", "link", "show", "dev", NAME)).ok(), NAME);
      assertEquals(
          List.of(
              "ending 1 processes of containers",
              "removing cgroup " + cgroup,
              "removing network device " + NAME,
              "removing address " + ADDRESS),
          said.subList(0, 4));

      said.clear();
      Files.delete(data.resolve("kubernetes-address/worker"));
      assertEquals(List.of(), remains.remove(), "a second time there is nothing");
      assertEquals(List.of(), said);
    } finally {
      inside.destroyForcibly();
    }
  }

  @Test
  @DisplayName("the rules that hide an address are removed with it, by the nft that made them")
  void rules() throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"),
        "a sandbox is made of namespaces, which needs root");
    Path programs = Path.of(System.getenv().getOrDefault("POLIS_KUBERNETES", ""));
    Path tools = programs.resolve("root/usr");
    assumeTrue(
        Files.isExecutable(tools.resolve("sbin/nft")),
        "running a control plane needs Kubernetes' programs; POLIS_KUBERNETES names their folder");
    String table = "polis_" + ADDRESS_OF_RULES.replace('.', '_');
    List<String> nft =
        List.of(
            "env",
            "LD_LIBRARY_PATH=" + tools.resolve("lib/x86_64-linux-gnu"),
            tools.resolve("sbin/nft").toString());
    String[] add = {"add", "table", "inet", table};
    run(Stream.concat(nft.stream(), Stream.of(add)).toArray(String[]::new));
    Files.createDirectories(data.resolve("kubernetes-address"));
    Files.writeString(
        data.resolve("kubernetes-address/worker"), ADDRESS_OF_RULES + "\n" + programs + "\n");

    assertEquals(List.of(), remains.remove());

    assertEquals(List.of("removing table inet " + table), said);
    Commands.Result tables =
        new Commands()
            .run(PATIENCE, Stream.concat(nft.stream(), Stream.of("list", "tables")).toList());
    assertTrue(tables.ok(), tables.words());
    assertFalse(tables.output().contains(table), tables.output());
  }

  @Test
  @DisplayName("a foreign process whose namespace got the number of ours is left alone")
  void numberOfAnother() throws Exception {
    assumeTrue(
        System.getProperty("user.name").equals("root"),
        "a sandbox is made of namespaces, which needs root");
    Process another = inside("polis-another");
    try {
      assertEquals('i', another.getInputStream().read());
      String boot = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
      record(boot, NAME, namespace(another, "mnt"), namespace(another, "net"));

      assertEquals(List.of(), remains.remove());
      assertTrue(another.isAlive());
    } finally {
      another.destroyForcibly();
    }
  }

  /** Starts a process in namespaces of its own, with the mark of a sandbox. */
  private static Process inside(String mark) throws IOException {
    return new ProcessBuilder(
            "unshare",
            "--net",
            "--mount",
            "sh",
            "-c",
            "mount -t tmpfs polis-run /run; printf '%s' \"$0\" > /run/polis-sandbox; echo in;"
                + " exec sleep 1000",
            mark)
        .start();
  }

  private void record(String boot, String name, String mount, String network) throws IOException {
    Path record = data.resolve("containers/sandbox.json");
    Files.createDirectories(record.getParent());
    Files.writeString(
        record,
        """
        {"bootId": "%s", "isolation": "NAMESPACES", "hostDevice": "%s", "cgroup": "%s",
         "addedAddress": "", "mountNamespace": "%s", "networkNamespace": "%s"}
        """
            .formatted(boot, name, name, mount, network));
  }

  private static String namespace(Process process, String kind) throws IOException {
    return Files.readSymbolicLink(Path.of("/proc/" + process.pid() + "/ns/" + kind)).toString();
  }

  private static void run(String... command) throws Exception {
    Process process = new ProcessBuilder(command).inheritIO().start();
    assertTrue(process.waitFor(20, TimeUnit.SECONDS), String.join(" ", command));
    assertEquals(0, process.exitValue(), String.join(" ", command));
  }
}
