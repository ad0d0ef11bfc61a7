package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads the refusals of a place and a limit with which a node cannot start. */
class NodeNeedsTest {

  @TempDir Path directory;
  private ScriptFolder scripts;

  @BeforeEach
  void copy() throws Exception {
    scripts = ScriptFolder.in(directory);
  }

  @Test
  @DisplayName("A limit of open files that a node exceeds is refused, with what raises it")
  void fewDescriptors() throws Exception {
    Finished run = node("ulimit -n 64; requires_descriptors");
    assertEquals(3, run.code(), run.all());
    assertTrue(
        run.err().contains("may open 64 files here, and a node needs 1024")
            && run.err().contains("next: raise the limit: ulimit -n"),
        run.all());
    node("requires_descriptors").requireSuccess("the limit of this machine");
  }

  @ParameterizedTest
  @CsvSource({
    "Read-only file system,is mounted read-only,mount it writable",
    "No space left on device,takes no more files,df -i",
    "Permission denied,belongs to,start the node as",
    "Operation not permitted,Operation not permitted,chattr -i",
    "Input/output error,takes no file: Input/output error,repair that"
  })
  @DisplayName("A state directory that takes no file is refused, with the cause and the remedy")
  void unwritable(String reason, String cause, String remedy) throws Exception {
    scripts.program(
        "mktemp", "echo \"mktemp: failed to create file '$1': %s\"; exit 1".formatted(reason));
    Finished run = node("requires_writable " + directory);
    assertEquals(3, run.code(), run.all());
    List<String> lines = run.err().lines().toList();
    assertTrue(lines.getFirst().contains(directory.toString()), run.all());
    assertTrue(lines.getFirst().contains(cause), run.all());
    assertTrue(lines.getLast().startsWith("polis: next: "), run.all());
    assertTrue(lines.getLast().contains(remedy), run.all());
  }

  @Test
  @DisplayName("A state directory that cannot be made is refused with the folder above it")
  void unmade() throws Exception {
    scripts.program(
        "mkdir", "echo \"mkdir: cannot create directory '$2': Permission denied\"; exit 1");
    Finished run = node("requires_writable %1$s/absent/state".formatted(directory));
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().startsWith("polis: %s belongs to ".formatted(directory)), run.all());
    assertTrue(run.err().contains("polis: next: start the node as "), run.all());
  }

  @Test
  @DisplayName("A state directory that takes files stays as it was")
  void writable() throws Exception {
    Path state = directory.resolve("new/state");
    node("requires_writable " + state).requireSuccess("requires_writable");
    try (Stream<Path> left = Files.list(state)) {
      assertEquals(List.of(), left.toList());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'echo a; echo damaged >&2; exit 1', damaged",
    "exit 139, 'nothing, and ended with 139'"
  })
  @DisplayName("A damaged etcd is refused with what it prints instead of its version")
  void damagedEtcd(String script, String words) throws Exception {
    scripts.executable("given/etcd", script);
    scripts.executable("given/etcdctl", "");
    Finished run = node("source launcher/script/etcd.sh; etcd_check given");
    assertEquals(3, run.code(), run.all());
    assertTrue(
        run.err().contains("given/etcd does not report its version, but: %s\n".formatted(words)),
        run.all());
    assertTrue(run.err().contains("polis: next: install it again"), run.all());
  }

  @ParameterizedTest
  @CsvSource({
    "JAVA_TOOL_OPTIONS,-javaagent:/absent.jar,/absent.jar",
    "JAVA_TOOL_OPTIONS,-XX:+UseG1GC,collector",
    "JDK_JAVA_OPTIONS,-XX:Wrong,Unrecognized VM option 'Wrong'",
    "_JAVA_OPTIONS,-XX:Wrong,Unrecognized VM option 'Wrong'"
  })
  @DisplayName(
      "A variable with options with which no JVM starts is refused with its name and unset")
  void javaOptions(String variable, String options, String words) throws Exception {
    Finished run =
        node(
            "export JAVA_TOOL_OPTIONS=-Dharmless=1 %s='%s'; requires_java_options %s"
                .formatted(variable, options, System.getProperty("java.home")));
    assertEquals(3, run.code(), run.all());
    List<String> lines = run.err().lines().toList();
    assertEquals(2, lines.size(), run.all());
    assertTrue(
        lines
            .getFirst()
            .startsWith(
                "polis: no JVM starts with the options in the variable %s, which is set to: %s (the JVM says: "
                    .formatted(variable, options)),
        run.all());
    assertTrue(lines.getFirst().contains(words), run.all());
    assertTrue(lines.getLast().startsWith("polis: next: unset " + variable + ", or"), run.all());
  }

  @Test
  @DisplayName("A variable with options with which the JVM starts is no obstacle")
  void goodJavaOptions() throws Exception {
    Finished run =
        node(
            "export JAVA_TOOL_OPTIONS=-Dharmless=1; requires_java_options "
                + System.getProperty("java.home"));
    assertEquals("", run.requireSuccess("requires_java_options").err());
  }

  @ParameterizedTest
  @ValueSource(strings = {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})
  @DisplayName("A JVM that would wait for a debugger is not tried")
  void waitsForADebugger(String variable) throws Exception {
    scripts.executable("java/bin/java", "touch tried; sleep 600");
    Finished run =
        node(
            "export %s=-agentlib:jdwp=transport=dt_socket,server=y; requires_java_options java"
                .formatted(variable));
    assertEquals("", run.requireSuccess("requires_java_options").err());
    assertFalse(Files.exists(scripts.path("tried")), "a JVM was started");
  }

  @Test
  @DisplayName("A training puts no machine code into the AOT cache: another processor may lack it")
  void noMachineCode() throws Exception {
    String java = System.getProperty("java.home") + "/bin/java \"${JVM_OPTIONS[@]}\" ";
    node(java + "\"${AOT_OPTIONS[@]}\" -XX:AOTCacheOutput=x.aot -version")
        .requireSuccess("the training");
    String said =
        node(java + "-XX:AOTCache=x.aot -XX:AOTMode=on '-Xlog:aot+codecache*=info' -version")
            .requireSuccess("a JVM with the cache")
            .all();
    assertTrue(said.contains("AOT Code Cache is empty"), said);
  }

  @Test
  @DisplayName("A limit of address space below etcd's need is refused, with what ends it")
  void fewAddresses() throws Exception {
    Finished run = node("ulimit -v 2000000; requires_addresses");
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().contains("2000000 KiB of addresses here (ulimit -v)"), run.all());
    assertTrue(run.err().contains("next: end the limit: ulimit -v unlimited"), run.all());
    node("requires_addresses").requireSuccess("the limit of this machine");
  }

  @ParameterizedTest
  @CsvSource({
    "'0::/a/b', sys/fs/cgroup/a/memory.max",
    "'4:memory:/a/b', sys/fs/cgroup/memory/a/memory.limit_in_bytes"
  })
  @DisplayName(
      "Memory in which the kernel would end the node is refused, with the file of the limit")
  void littleMemory(String group, String file) throws Exception {
    write("proc/meminfo", "MemTotal:       8388608 kB\n");
    write("proc/self/cgroup", group + "\n");
    write(file, "157286400\n");
    Finished run = node("requires_memory " + directory);
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().contains("may use 150 MiB of memory, and a node needs 192"), run.all());
    assertTrue(
        run.err().contains("next: raise the limit: echo 384M >%s/%s ".formatted(directory, file)),
        run.all());

    write(file, "402653184\n");
    String enough = node("requires_memory " + directory).requireSuccess("requires_memory").err();
    assertEquals("", enough);
    write(file, "167772160\n");
    String said = node("requires_memory " + directory).requireSuccess("requires_memory").err();
    assertTrue(said.contains("a node needs 192: the kernel may end it; raise the limit: "), said);
    write("proc/meminfo", "MemTotal:       131072 kB\n");
    Finished machine = node("requires_memory " + directory);
    assertEquals(3, machine.code(), machine.all());
    assertTrue(machine.err().contains("this machine has 128 MiB of memory"), machine.all());
  }

  @ParameterizedTest
  @CsvSource({"'0::/a/b', sys/fs/cgroup/a", "'8:pids:/a/b', sys/fs/cgroup/pids/a"})
  @DisplayName("A cgroup with few threads left is refused, with their number and the file")
  void fewThreads(String group, String folder) throws Exception {
    write("proc/self/cgroup", group + "\n");
    write(folder + "/pids.max", "100\n");
    write(folder + "/pids.current", "60\n");
    Finished run = node("requires_threads " + directory);
    assertEquals(3, run.code(), run.all());
    assertTrue(
        run.err().contains("may have 100 processes and threads, of which 60 are there"), run.all());
    assertTrue(
        run.err()
            .contains(
                "next: raise the limit: echo 260 >%s/%s/pids.max ".formatted(directory, folder)),
        run.all());

    write(folder + "/pids.max", "max\n");
    node("requires_threads " + directory).requireSuccess("requires_threads");
  }

  @Test
  @DisplayName("A user with few threads left is refused, with what raises the limit")
  void fewThreadsOfUser() throws Exception {
    scripts.program("id", "[[ $1 == -u ]] && echo 4711 || echo carla");
    Finished run = node("ulimit -u 70; requires_threads " + directory);
    assertEquals(3, run.code(), run.all());
    assertTrue(
        run.err()
            .contains("the user carla may have 70 processes and threads, of which 0 are there"),
        run.all());
    assertTrue(run.err().contains("next: raise the limit: ulimit -u as root"), run.all());
  }

  @Test
  @DisplayName("A node that runs proves that the limits suffice, and uses a part of them itself")
  void limitsOfARunningNode() throws Exception {
    String required = "ulimit -v 2000000; requires_limits " + directory;
    Finished another = node("echo $$ >node.lock; " + required);
    assertEquals(3, another.code(), another.all());
    Finished node = node(": dev.polis.node.Main; echo $$ >node.lock; " + required);
    assertEquals("", node.requireSuccess("requires_limits").err());
  }

  @ParameterizedTest
  @CsvSource({
    "'0::/a/b', a/cpu.max, '2000 100000'",
    "'2:cpuacct,cpu:/a/b', cpu/a/cpu.cfs_quota_us, '2000'"
  })
  @DisplayName("A cgroup with a small share of a processor is named with the time of a start")
  void slowProcessor(String group, String file, String limit) throws Exception {
    write("proc/self/cgroup", group + "\n");
    write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    write("sys/fs/cgroup/" + file, limit + "\n");
    String said = node("warn_of_quota " + directory).requireSuccess("warn_of_quota").err();
    assertTrue(said.contains("may use 2 % of a processor"), said);
    assertTrue(said.contains(directory + "/sys/fs/cgroup/" + file), said);
    assertTrue(said.contains("a start takes 200 s or longer"), said);

    write(
        "sys/fs/cgroup/" + file, limit.replace("2000", file.endsWith("max") ? "max" : "-1") + "\n");
    assertEquals("", node("warn_of_quota " + directory).requireSuccess("warn_of_quota").err());
  }

  @ParameterizedTest
  @CsvSource({
    "'echo Network is unreachable; exit 1', the interface lo is down, ip link set lo up",
    "'[[ $1 == cat ]] && echo 0x8 || exit 124', the interface lo is down, ip link set lo up",
    "'[[ $1 == cat ]] && echo 0x9 || exit 124', 'does not reach itself at 127.0.7.3, port 7833: a route', nft list ruleset",
    "'[[ $1 == cat ]] && exit 1 || exit 124', 'does not reach itself at 127.0.7.3, port 7833: a route', nft list ruleset",
    "'echo Invalid argument; exit 1', 'does not reach itself at 127.0.7.3, port 7833 (Invalid argument)', ip route get 127.0.7.3",
    "'echo Cannot assign requested address; exit 1', has no local port left, net.ipv4.ip_local_port_range"
  })
  @DisplayName("A machine whose programs cannot reach each other is refused, with the cause")
  void noLoopback(String within, String cause, String remedy) throws Exception {
    scripts.executable("within", within);
    Finished run = node("requires_loopback 127.0.7.3 ./within");
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().lines().findFirst().orElseThrow().contains(cause), run.all());
    assertTrue(run.err().contains("polis: next: "), run.all());
    assertTrue(run.err().contains(remedy), run.all());
    node("requires_loopback 127.0.7.3").requireSuccess("this machine");
    node("requires_loopback ''").requireSuccess("this machine");
  }

  /** Gives the place of a node a file system and a disk that variables name. */
  private void fileSystems() throws Exception {
    scripts.program("stat", "[[ $3 == %T ]] && echo ${TYPE:-ext2/ext3} || echo $FILE_SYSTEM");
    scripts.program("findmnt", "[[ -z ${DISK:-} ]] || echo $DISK");
    scripts.program("df", "echo Filesystem Mounted on; echo /dev/$FILE_SYSTEM /mnt");
  }

  @Test
  @DisplayName("A folder is no new node while another file system held a node there")
  void anotherFileSystem() throws Exception {
    fileSystems();
    write("state/esp/sealed_configuration.pb", "");
    node("FILE_SYSTEM=a keep_place " + scripts.path("state")).requireSuccess("keep_place");
    String required = "requires_same_place " + scripts.path("state");
    node("FILE_SYSTEM=b " + required).requireSuccess("a node that was copied");
    Files.delete(scripts.path("state/esp/sealed_configuration.pb"));
    node("FILE_SYSTEM=a " + required).requireSuccess("a node that was deleted");

    Finished run = node("FILE_SYSTEM=b " + required);
    assertEquals(3, run.code(), run.all());
    assertTrue(
        run.err()
            .contains(
                "held a node on the file system /dev/a, mounted at /mnt; now the file system /dev/b, mounted at /mnt is at this path"),
        run.all());
    node("machine_id() { echo another; }; FILE_SYSTEM=b " + required)
        .requireSuccess("a copy of this folder on another machine");
    String remedy = run.err().substring(run.err().indexOf("rm "));
    node(remedy).requireSuccess(remedy);
    write("state/esp/sealed_configuration.pb", "");
    String said =
        node("POLIS_CACHE=/proc/absent keep_place " + scripts.path("state"))
            .requireSuccess("keep_place without a folder of its own")
            .err();
    assertTrue(said.contains("cannot be written: No such file or directory"), said);
    Files.delete(scripts.path("state/esp/sealed_configuration.pb"));
    node("FILE_SYSTEM=b " + required).requireSuccess("a new node");
  }

  @Test
  @DisplayName("A disk is the same under another number of its device, and another one is not")
  void sameDisk() throws Exception {
    fileSystems();
    write("state/esp/sealed_configuration.pb", "");
    String state = scripts.path("state").toString();
    node("FILE_SYSTEM=a DISK=x keep_place " + state).requireSuccess("keep_place");
    Files.delete(scripts.path("state/esp/sealed_configuration.pb"));
    String required = " requires_same_place " + state;
    node("FILE_SYSTEM=b DISK=x" + required).requireSuccess("the same disk as another device");
    node("FILE_SYSTEM=a" + required).requireSuccess("a disk that does not tell its id");
    assertEquals(3, node("FILE_SYSTEM=a DISK=y" + required).code());
  }

  @ParameterizedTest
  @ValueSource(strings = {"tmpfs", "ramfs", "overlayfs"})
  @DisplayName("A file system in memory and one of a container leave no place behind")
  void passingFileSystem(String type) throws Exception {
    fileSystems();
    write("state/esp/sealed_configuration.pb", "");
    String state = scripts.path("state").toString();
    node("FILE_SYSTEM=a keep_place " + state).requireSuccess("keep_place on a disk");
    node("TYPE=%s FILE_SYSTEM=b keep_place %s".formatted(type, state)).requireSuccess(type);
    Files.delete(scripts.path("state/esp/sealed_configuration.pb"));
    node("FILE_SYSTEM=c requires_same_place " + state).requireSuccess("the next start");
  }

  @Test
  @DisplayName("The file system behind a link is kept, and missed when the link leads elsewhere")
  void placeBehindALink() throws Exception {
    fileSystems();
    write("disk/state/esp/sealed_configuration.pb", "");
    Files.createSymbolicLink(scripts.path("link"), scripts.path("disk/state"));
    String link = scripts.path("link").toString();
    node("FILE_SYSTEM=a keep_place " + link).requireSuccess("keep_place");
    Files.delete(scripts.path("disk/state/esp/sealed_configuration.pb"));
    assertEquals(3, node("FILE_SYSTEM=b requires_same_place " + link).code());
    assertEquals(3, node("FILE_SYSTEM=b requires_same_place disk/state").code());
  }

  @Test
  @DisplayName("The file that marks a time goes with its process, or with the next one")
  void markedTime() throws Exception {
    write(".since.4194305", "");
    String marks = "mark_time %s; echo .since.* $SINCE".formatted(directory);
    String said = node(marks).requireSuccess("mark_time").out();
    String[] left = said.strip().split(" ");
    assertEquals(2, left.length, said);
    assertEquals(scripts.path(left[0]).toString(), left[1]);
  }

  private void write(String name, String content) throws Exception {
    Path file = scripts.path(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, content);
  }

  private Finished node(String command) throws Exception {
    return scripts.finish(
        List.of(
            "bash",
            "-c",
            "set -euo pipefail; cd %1$s; source launcher/script/words.sh; source launcher/script/node.sh; source launcher/script/needs.sh; export POLIS_CACHE=%1$s/.polis; %2$s"
                .formatted(directory, command)));
  }
}
