package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Runs {@code polis up} and {@code polis down} with a Java that records its arguments and its
 * standard input.
 */
class NodeCommandsTest {

  private static final String SECRET = "MC4CAQAwBQYDK2VuBCIEIJkX0s8Vb1";
  private static final String KEY =
      "-----BEGIN PRIVATE KEY-----\n" + SECRET + "\n-----END PRIVATE KEY-----\n";

  @TempDir Path directory;
  private ScriptFolder scripts;

  @BeforeEach
  void makeNode() throws Exception {
    scripts = ScriptFolder.in(directory).withEtcd();
    for (String file : List.of("bundles.list", "lib/a.jar", "ctl/a.jar")) {
      Path path = scripts.path("launcher/dist/target/polis/" + file);
      Files.createDirectories(path.getParent());
      Files.createFile(path);
    }
    Files.createDirectories(scripts.path("jdk"));
    Files.writeString(scripts.path("jdk/release"), "JAVA_VERSION=\"25\"\n");
    scripts.executable("jdk/bin/javac", "");
    // A node that is HOME runs for a while, so that the script finds it alive.
    scripts.executable(
        "jdk/bin/java",
        """
        cd %s
        printf '%%s\\n' "$*" >>calls
        if [[ -f unstartable ]]; then
          echo "Unrecognized option: -Wrong" >&2
          exit 1
        fi
        if [[ " $* " == *" dev.polis.node.Main run "* ]]; then
          cat >node-input
          mkdir -p state/ephemeral/launcher
          if [[ -f hangs ]]; then
            echo "waiting for a leader (5.0 s)"
            exec sleep 60
          fi
          [[ ! -f killed ]] || kill -KILL $$
          echo HOME
          touch state/ephemeral/launcher/home
          if [[ -f crashes ]]; then
            rm crashes
            [[ ! -f asked ]] || touch state/ephemeral/launcher/power-off
            touch state/ephemeral/launcher/jvm-error.txt
            exit 1
          fi
          [[ ! -f detached ]] || sleep 3
        else
          cat >>other-input
          [[ " $* " != *" node list "* ]] || printf 'NODE ID STATE\\nmetropolis-1 UP\\n'
        fi
        """
            .formatted(directory));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @DisplayName("The recovery key on standard input goes to the node, and to no other program")
  void recoveryKeyFromAPipe(boolean detached) throws Exception {
    Files.writeString(scripts.path("key.pem"), KEY);
    String command = up(detached, "--recovery-key", "-");
    Finished run = bash("cat key.pem | " + command);

    run.requireSuccess("polis up");
    onlyTheNodeHasTheKey();
  }

  @Test
  @DisplayName(
      "At a terminal, up asks for the recovery key of a detached node, and does not show the pasted text")
  void recoveryKeyAtATerminal() throws Exception {
    Files.writeString(scripts.path("key.pem"), KEY);
    Files.createFile(scripts.path("screen"));
    Finished run =
        bash(
            "{ until grep -q paste screen; do sleep 0.1; done; cat key.pem; sleep 1; } | script -qfec '"
                + up(true, "--recovery-key", "-")
                + "' /dev/null >screen");

    String screen = Files.readString(scripts.path("screen"));
    assertEquals(0, run.code(), screen);
    assertTrue(
        screen.contains("polis: paste the owner's recovery key (PEM); it is not shown"), screen);
    assertFalse(screen.contains(SECRET), screen);
    onlyTheNodeHasTheKey();
  }

  @Test
  @DisplayName("The recovery key in the state directory is used automatically while it is there")
  void recoveryKeyBesideTheVolume() throws Exception {
    Path key = scripts.path("state/owner/recovery-key.pem");
    Files.createDirectories(key.getParent());
    Files.writeString(key, KEY);
    bash(up(false)).requireSuccess("polis up");
    assertTrue(lastCall().contains(" --recovery-key " + key), lastCall());

    Files.delete(key);
    bash(up(false)).requireSuccess("polis up");
    assertFalse(lastCall().contains("--recovery-key"), lastCall());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @DisplayName("up says that a node was killed, and which command knows more of it")
  void killed(boolean detached) throws Exception {
    Files.createFile(scripts.path("killed"));
    Finished run = bash(up(detached));
    assertEquals(137, run.code(), run.all());
    assertTrue(
        run.err().contains("polis: the node's process was killed (SIGKILL); next: ./polis ctl"),
        run.all());
    assertTrue(run.err().contains("/state health says what is known of it"), run.all());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @DisplayName("up needs no folder for temporary files, and leaves none in the state directory")
  void noTemporaryFolder(boolean detached) throws Exception {
    bash("TMPDIR=/absent " + up(detached)).requireSuccess("polis up");
    Await.until(
        Duration.ofSeconds(30),
        "what waits for HOME beside the node to end with it",
        () -> {
          try (var left = Files.list(scripts.path("state"))) {
            return left.noneMatch(file -> file.getFileName().toString().startsWith("."));
          }
        });
  }

  @Test
  @DisplayName("up keeps the file system of a member, and begins no new node in place of it")
  void placeOfAMember() throws Exception {
    // The folder of a test may be in memory, of which no place is kept.
    scripts.program("stat", "[[ $* == *%T* ]] && echo ext2/ext3 || exec /usr/bin/stat \"$@\"");
    Path sealed = scripts.path("state/esp/sealed_configuration.pb");
    Files.createDirectories(sealed.getParent());
    Files.createFile(sealed);
    bash(up(false)).requireSuccess("polis up");
    Path place;
    try (var places = Files.list(scripts.path(".polis/places"))) {
      place = places.findFirst().orElseThrow();
    }
    Files.delete(sealed);
    bash(up(false)).requireSuccess("polis up of a node that was deleted");

    List<String> kept = new ArrayList<>(Files.readAllLines(place));
    kept.set(2, "0");
    kept.set(3, "");
    Files.write(place, kept);
    Finished run = bash(up(false));
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().contains("a start would make a new cluster"), run.all());
    assertTrue(run.err().contains("rm " + place), run.all());
  }

  @Test
  @DisplayName(
      "A node that is no member yet gets parameters, and a member only those that are named")
  void parametersOfAMember() throws Exception {
    bash(up(false)).requireSuccess("polis up");
    String made = scripts.path("state/owner/parameters.json").toString();
    assertTrue(lastCall().contains(" --parameters " + made), lastCall());

    Path sealed = scripts.path("state/esp/sealed_configuration.pb");
    Files.createDirectories(sealed.getParent());
    Files.createFile(sealed);
    bash(up(false)).requireSuccess("polis up");
    assertFalse(lastCall().contains("--parameters"), lastCall());

    bash(up(false, "--parameters", "mine.json")).requireSuccess("polis up");
    assertTrue(lastCall().contains(" --parameters mine.json"), lastCall());
  }

  @Test
  @DisplayName("The next command is takeownership only until the owner has a certificate")
  void nextCommandOfAnOwnedNode() throws Exception {
    bash(up(false)).requireSuccess("polis up");
    assertTrue(lastCall().contains(" takeownership, then ./polis ctl"), lastCall());

    Files.createDirectories(scripts.path("state/owner"));
    Files.createFile(scripts.path("state/owner/owner.pem"));
    bash(up(false)).requireSuccess("polis up");
    assertTrue(lastCall().contains("--next next: ./polis ctl --state "), lastCall());
    assertFalse(lastCall().contains("takeownership"), lastCall());
  }

  @Test
  @DisplayName("A node in the foreground is started again once each time its JVM crashes")
  void startedAgain() throws Exception {
    Files.createFile(scripts.path("crashes"));
    Finished run = bash(up(false, "--parameters", "mine.json", "--log", "=INFO"));

    run.requireSuccess("polis up");
    List<String> starts =
        Files.readAllLines(scripts.path("calls")).stream()
            .filter(call -> call.contains("Main run "))
            .toList();
    assertEquals(2, starts.size(), starts::toString);
    assertTrue(starts.get(0).contains(" --parameters mine.json"), starts::toString);
    assertFalse(starts.get(1).contains("--parameters"), "it is a member: " + starts.get(1));
    assertTrue(starts.get(1).contains(" --log =INFO"), starts::toString);
    assertTrue(run.err().contains("starting the node again"), run::all);
  }

  @Test
  @DisplayName("A node whose JVM crashes while it is powered off stays down")
  void staysDown() throws Exception {
    Files.createFile(scripts.path("crashes"));
    Files.createFile(scripts.path("asked"));
    Finished run = bash(up(false));

    assertEquals(1, run.code(), run::all);
    assertFalse(run.err().contains("starting the node again"), run::all);
  }

  @Test
  @DisplayName(
      "A detached start that does not reach HOME ends after its limit with the awaited condition; the node keeps running")
  void detachedWithinALimit() throws Exception {
    Files.createFile(scripts.path("hangs"));
    Finished run = bash("POLIS_DETACH_WITHIN=1 " + up(true));

    assertEquals(1, run.code(), run.all());
    assertTrue(run.out().contains("waiting for a leader"), run::all);
    Matcher said = Pattern.compile("not HOME after 1 s;.* as process (\\d+)").matcher(run.err());
    assertTrue(said.find(), run::all);
    ProcessHandle node = ProcessHandle.of(Long.parseLong(said.group(1))).orElseThrow();
    assertTrue(node.isAlive(), "the node was ended");
    node.destroyForcibly();
  }

  @Test
  @DisplayName("The heap is shown, and set by an option")
  void heap() throws Exception {
    Finished run = bash(up(false, "--heap", "128m"));
    run.requireSuccess("polis up");
    assertTrue(run.err().contains("polis: the node's heap is at most 128 MiB, of "), run::all);
    String state = scripts.path("state").toString();
    assertTrue(
        lastCall()
            .contains(" -Xmx128m -XX:ErrorFile=" + state + "/ephemeral/launcher/jvm-error.txt"),
        lastCall());
  }

  @ParameterizedTest
  @CsvSource({"up,--heap SIZE", "down,within two minutes"})
  @DisplayName("up and down list their own options")
  void help(String command, String words) throws Exception {
    Finished run = scripts.run("polis", command, "--help");
    run.requireSuccess("--help");
    assertTrue(run.out().startsWith("polis " + command), run::all);
    assertTrue(run.out().contains(words), run::all);
    assertFalse(run.out().contains("polis resolve"), run::all);
  }

  @Test
  @DisplayName("polis down gives the node's launcher its standard input and --anyway")
  void downIsAskedAtTheTerminal() throws Exception {
    bash("echo y | ./polis down --state state --anyway --timeout 7").requireSuccess("polis down");

    assertTrue(
        lastCall().endsWith("dev.polis.node.Main stop --state state --anyway --timeout 7"),
        lastCall());
    assertEquals("y\n", Files.readString(scripts.path("other-input")));
  }

  @Test
  @DisplayName("polis ctl tries the options of JAVA_TOOL_OPTIONS only after a failure")
  void javaOptionsOfCtl() throws Exception {
    String command = "JAVA_TOOL_OPTIONS=-Wrong ./polis ctl node list </dev/null";
    bash(command).requireSuccess("polis ctl");
    assertEquals(1, Files.readAllLines(scripts.path("calls")).size());

    Files.createFile(scripts.path("unstartable"));
    Finished run = bash(command);
    assertEquals(3, run.code(), run.all());
    assertTrue(run.err().contains("next: unset JAVA_TOOL_OPTIONS"), run.all());
  }

  @ParameterizedTest
  @CsvSource({
    "2,an even number of voters,need 2, 2",
    "4,an even number of voters,need 3, 2",
    "7,'give 1, 3 or 5',only make a cluster slower, 2",
    "many,'give 1, 3 or 5',only make a cluster slower, 2",
    "3 --recovery-key -,--recovery-key - reads the key once,give the key in a file, 2",
    "3 --parameters mine.json,--parameters is for one node,leave one of them out, 2",
    "3 --kubernetes,--kubernetes is for one node,leave one of them out, 2"
  })
  @DisplayName("up refuses a number of nodes that makes no useful cluster, and options of one node")
  void refusedClusters(String nodes, String problem, String more, int code) throws Exception {
    Finished run = bash("./polis up --nodes " + nodes);
    assertEquals(code, run.code(), run::all);
    assertTrue(run.err().contains(problem), run::all);
    assertTrue(run.err().contains(more), run::all);
    assertFalse(Files.exists(scripts.path("calls")), "nothing was started");
  }

  @Test
  @DisplayName("up --nodes gives the folder, the first address and the options of each start")
  void cluster() throws Exception {
    Finished run = bash(up(true, "--nodes", "3", "--address", "127.0.9.1", "--log", "=INFO"));

    run.requireSuccess("polis up --nodes");
    String call = lastCall();
    String state = scripts.path("state").toString();
    assertTrue(
        call.contains(
            " dev.polis.ctl.local.LocalMain --nodes 3 --base %s --polis ./polis --etcd /"
                .formatted(state)),
        call);
    assertTrue(call.endsWith(" --address 127.0.9.1 -- --security insecure --log =INFO"), call);
    bash("POLIS_STATE=" + state + " ./polis up --nodes 3").requireSuccess("polis up --nodes");
    assertTrue(lastCall().endsWith(" --default-base --"), lastCall());
    bash("POLIS_STATE=" + state + " ./polis up --nodes 3 --recovery-key key.pem")
        .requireSuccess("polis up --nodes");
    String key = " --recovery-key " + scripts.path("key.pem") + " ";
    assertTrue(lastCall().contains(key), lastCall());
  }

  @Test
  @DisplayName("a node's directory is no folder of a cluster, nor the other way round")
  void clusterOrNode() throws Exception {
    Files.createDirectories(scripts.path("state/esp"));
    Finished grown = bash(up(true, "--nodes", "3"));
    assertEquals(3, grown.code(), grown::all);
    assertTrue(grown.err().contains("is the state directory of one node"), grown::all);

    Files.createDirectories(scripts.path("base/1"));
    Files.createDirectories(scripts.path("base/2"));
    Files.createDirectories(scripts.path("base/3"));
    Files.createFile(scripts.path("base/cluster"));
    Finished single = bash("./polis up --state base");
    assertEquals(3, single.code(), single::all);
    assertTrue(single.err().contains("next: start all of them: ./polis up --nodes 3 --state base"));
    assertFalse(Files.exists(scripts.path("calls")), "nothing was started");

    bash("./polis down --state base --timeout 7").requireSuccess("polis down");
    assertTrue(
        lastCall().endsWith(" stop --state base/3 --state base/2 --state base/1 --timeout 7"),
        lastCall());
    bash("./polis down --state base/2").requireSuccess("polis down");
    assertTrue(lastCall().endsWith(" stop --state base/2"), lastCall());
  }

  @ParameterizedTest
  @CsvSource({"0,KubernetesController KubernetesWorker", "1000,KubernetesController"})
  @DisplayName(
      "up --kubernetes gives the node the programs, takes ownership, and gives the roles that the user may run")
  void kubernetes(String user, String roles) throws Exception {
    scripts.withKubernetes();
    scripts.program(
        "id", "[[ \"$1\" == -u ]] && echo %s || exec /usr/bin/id \"$@\"".formatted(user));
    // A node of root would have an encrypted volume, whose programs would be fetched.
    Path owner = Files.createDirectories(scripts.path("state/owner"));
    Files.createFile(owner.resolve("owner-key.pem"));
    Finished run = bash(up(true, "--kubernetes"));

    run.requireSuccess("polis up --kubernetes");
    List<String> calls = Files.readAllLines(scripts.path("calls"));
    Path programs = scripts.path(".polis/kubernetes-" + scripts.kubernetesVersion());
    String started = calls.stream().filter(call -> call.contains("Main run ")).findFirst().get();
    assertTrue(started.contains(" --set dev.polis.kubernetes.programs=" + programs), started);
    assertTrue(started.contains(" --set dev.polis.containers.programs=" + programs), started);
    String state = " --state " + scripts.path("state") + " ";
    List<String> last = calls.subList(calls.size() - 3, calls.size());
    assertTrue(last.get(0).endsWith(state + "takeownership"), calls::toString);
    assertTrue(last.get(1).endsWith(state + "node list"), calls::toString);
    assertTrue(
        last.get(2).endsWith(state + "node role add metropolis-1 " + roles), calls::toString);
    assertTrue(run.err().contains(programs.resolve("bin/kubectl") + " get nodes"), run::all);
    assertEquals(
        !user.equals("0"), run.err().contains("polis: KubernetesWorker needs root, "), run::all);
  }

  @Test
  @DisplayName(
      "For a node whose owner's key is elsewhere, up prints the owner's commands for the roles")
  void kubernetesWithoutTheOwnersKey() throws Exception {
    scripts.withKubernetes();
    Finished run = bash(up(true, "--kubernetes"));

    run.requireSuccess("polis up --kubernetes");
    assertTrue(run.err().contains("ctl node role add NODE KubernetesController"), run::all);
    assertFalse(lastCall().contains(" role add "), lastCall());
  }

  @Test
  @DisplayName("A folder without Kubernetes' programs is refused before a node is started")
  void kubernetesDirWithoutPrograms() throws Exception {
    Files.createDirectories(scripts.path("empty"));
    Finished run = bash(up(true, "--kubernetes-dir", "empty"));

    assertEquals(3, run.code(), run.all());
    assertTrue(
        run.err()
            .contains(
                "polis: kubernetes: %s has no kube-apiserver ".formatted(scripts.path("empty"))),
        run::all);
    assertFalse(Files.exists(scripts.path("calls")), "nothing was started");
  }

  @Test
  @DisplayName("up without --address starts a node at the address of its last run, and says so")
  void addressOfBefore() throws Exception {
    Path state = scripts.path("state");
    Files.createDirectories(state.resolve("esp"));
    Files.createFile(state.resolve("esp/sealed_configuration.pb"));
    Path listeners = Files.createDirectories(state.resolve("ephemeral")).resolve("listeners");
    Files.writeString(listeners, "curator [2001:db8::7]:7835 open\ncurator-old 192.0.2.1:1 open\n");

    Finished killed = bash(up(true));
    Files.delete(listeners);
    killed.requireSuccess("polis up");
    assertTrue(lastCall().contains(" --address 2001:db8::7"), lastCall());
    assertTrue(killed.err().contains("the node's address is 2001:db8::7, as before"), killed::all);

    bash(up(false)).requireSuccess("polis up after an orderly end");
    assertTrue(lastCall().contains(" --address 2001:db8::7"), lastCall());
    bash(up(false, "--address", "127.0.9.5")).requireSuccess("polis up --address");
    assertTrue(lastCall().contains(" --address 127.0.9.5"), lastCall());
    bash(up(false, "--manage-network")).requireSuccess("polis up --manage-network");
    assertFalse(lastCall().contains(" --address"), lastCall());
  }

  private String up(boolean detached, String... more) throws Exception {
    List<String> command = new ArrayList<>(List.of("./polis", "up", "--security", "insecure"));
    command.addAll(List.of("--state", scripts.path("state").toString()));
    if (detached) {
      Files.createFile(scripts.path("detached"));
      command.add("--detach");
    }
    command.addAll(List.of(more));
    return String.join(" ", command);
  }

  private Finished bash(String code) throws Exception {
    return scripts.finish(
        List.of(
            "env",
            "JAVA_HOME=" + scripts.path("jdk"),
            "POLIS_BUILD=no",
            "POLIS_TRAIN=no",
            "TERM=xterm",
            "bash",
            "-c",
            "set -eo pipefail; cd " + directory + "; " + code));
  }

  private String lastCall() throws Exception {
    return Files.readAllLines(scripts.path("calls")).getLast();
  }

  private void onlyTheNodeHasTheKey() throws Exception {
    assertEquals(KEY, Files.readString(scripts.path("node-input")));
    assertEquals("", Files.readString(scripts.path("other-input")), "the arguments of params make");
    String calls = Files.readString(scripts.path("calls"));
    assertTrue(calls.contains(" --recovery-key -"), calls);
    assertFalse(calls.contains(SECRET), calls);
    Path log = scripts.path("state/node.log");
    assertFalse(Files.exists(log) && Files.readString(log).contains(SECRET), "in the node's log");
  }
}
