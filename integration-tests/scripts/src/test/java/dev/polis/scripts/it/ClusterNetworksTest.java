package dev.polis.scripts.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.polis.fixtures.Finished;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks the network namespaces of {@code polis up --nodes 3 --netns}, without nodes in them. */
class ClusterNetworksTest {

  /**
   * Prints in which state the answer of a closed port is: only a machine that is reached refuses.
   */
  private static final String CALL =
      "bash -c ': </dev/tcp/%s/9' 2>&1 | grep -om1 refused || true\n";

  @TempDir Path directory;
  private ScriptFolder scripts;
  private Path base;

  @BeforeEach
  void makeScripts() throws Exception {
    scripts = ScriptFolder.in(directory);
    base = Files.createDirectory(directory.resolve("base"));
  }

  @Test
  @DisplayName(
      "Each node of a cluster gets a network that the others and this machine reach; a second call makes what is missing; down leaves none, also where a process stays, and the next call makes all anew")
  void life() throws Exception {
    assumeTrue(
        Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0),
        "making a network namespace needs root");
    // The file of a namespace would stay in the machine's own folder.
    String code =
        """
        mount -t tmpfs tmpfs /run
        echo first $(netns_up 3 %1$s "")
        name=$(<%1$s/netns)
        echo namespaces $(ip netns list | grep -c "^$name-[123]")
        %2$s
        ip netns exec $name-1 %3$s
        ip netns exec $name-1 cat /proc/sys/net/ipv4/tcp_retries2
        ip netns exec $name-3 %4$s
        mkdir %1$s/2 && netns_of %1$s/2 && echo within "${within[@]:0:3}"
        (BASH_ARGV0=echo; netns_enter health --state %1$s/2)
        (BASH_ARGV0=echo; netns_enter health --state=%1$s/2)
        ip netns delete $name-2
        (netns_of %1$s/2) || echo code $?
        echo 10.83.84.1 >%1$s/cluster
        echo again $(netns_up 3 %1$s "") $(ip netns list | grep -c "^$name-[123]")
        echo other $(netns_up 3 %1$s 10.1.1.1) $(ip -o address show to 10.1.1.0/24 | wc -l)
        ip netns exec $name-3 tail -f /dev/null & process=$!
        netns_down %1$s
        echo left $(ip netns list | wc -l) $(ip -o link show | grep -c $name)
        echo anew $(netns_up 3 %1$s "")
        netns_down %1$s
        kill $process
        """
            .formatted(
                base,
                CALL.formatted("10.83.84.2"),
                CALL.formatted("10.83.84.3"),
                CALL.formatted("10.83.84.254"));
    Finished run = scripts.functions(List.of("unshare", "--net", "--mount"), code);

    run.requireSuccess("networks of a cluster");
    String name = Files.readString(base.resolve("netns")).strip();
    assertEquals(
        """
        first 10.83.84.1
        namespaces 3
        refused
        refused
        5
        refused
        within ip netns exec
        ctl health --state %1$s/2
        ctl health --state=%1$s/2
        code 3
        again 10.83.84.1 3
        other 10.1.1.1 0
        left 0 0
        anew 10.83.84.1
        """
            .formatted(base),
        run.out(),
        run::all);
    assertTrue(
        run.err().contains("polis: the network namespace " + name + "-2 of this node is gone"),
        run::all);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "127.0.3.1 | 2 | need IPv4 addresses that no other interface has, such as 10.83.84.1",
        "10.8.8.0 | 2 | need IPv4 addresses that no other interface has",
        "10.8.8.252 | 2 | below 10.8.8.254, which is this machine's",
        "here | 2 | --address here: with --netns",
        "10.9.9.1 | 3 | an interface of this machine has an address of the network 10.9.9.0/24 already: eth7 10.9.9.7/24",
      })
  @DisplayName("Addresses that cannot be the nodes' are refused, and nothing is made")
  void wrongAddress(String address, int code, String words) throws Exception {
    scripts.program("id", "echo 0");
    scripts.program(
        "ip",
        """
        case "$*" in
          "link show "*) exit 1 ;;
          *"to 10.9.9.0/24") echo "7: eth7    inet 10.9.9.7/24 scope global eth7" ;;
          *"address show"*) ;;
          *) echo "$*" >>%s ;;
        esac
        """
            .formatted(directory.resolve("made")));
    Finished run = scripts.functions("netns_up 3 %s %s".formatted(base, address));

    assertEquals(code, run.code(), run::all);
    assertTrue(run.err().contains(words), run::all);
    assertFalse(Files.exists(directory.resolve("made")), run::all);
    assertFalse(Files.exists(base.resolve("netns")));
  }

  @Test
  @DisplayName(
      "--netns is refused for an ordinary user, for one node, and for nodes that share this machine's network")
  void refused() throws Exception {
    scripts.program("id", "[[ $1 == -u ]] && echo 1000 || echo ada");
    Finished user = scripts.functions("netns_up 3 %s ''".formatted(base));
    assertEquals(3, user.code(), user::all);
    assertTrue(user.err().contains("needs root, and this is the user ada"), user::all);

    scripts.program("id", "echo 0");
    Files.writeString(base.resolve("cluster"), "127.0.0.1\n");
    Finished shared = scripts.functions("netns_up 3 %s ''".formatted(base));
    assertEquals(3, shared.code(), shared::all);
    assertTrue(
        shared.err().contains("are in the network of this machine, from 127.0.0.1 on"),
        shared::all);

    Finished one = scripts.run("polis", "up", "--netns", "--state", base.toString());
    assertEquals(2, one.code(), one::all);
    assertTrue(one.err().contains("give --nodes 3, or leave it out"), one::all);
  }

  @Test
  @DisplayName("A bridge that cannot be made is named with the kernel's reason, and removed")
  void noBridge() throws Exception {
    scripts.program("id", "echo 0");
    scripts.program(
        "ip",
        """
        echo "$*" >>%s
        case "$*" in
          "link show "*) exit 1 ;;
          "address add "*) echo "RTNETLINK answers: Operation not permitted" >&2; exit 2 ;;
        esac
        """
            .formatted(directory.resolve("made")));
    Finished run = scripts.functions("netns_up 3 %s ''".formatted(base));

    assertEquals(3, run.code(), run::all);
    assertTrue(
        run.err().contains("cannot be made: RTNETLINK answers: Operation not permitted"), run::all);
    assertTrue(
        Files.readAllLines(directory.resolve("made")).getLast().startsWith("link delete polis"),
        run::all);
  }

  @Test
  @DisplayName("A node of a cluster that starts alone keeps its address in the cluster")
  void addressOfOne() throws Exception {
    Files.writeString(base.resolve("cluster"), "127.0.7.4\n");
    Finished run =
        scripts.functions(
            "node_address %1$s/3; node_address %1$s/x; node_address /tmp".formatted(base));
    assertEquals("127.0.7.6\n", run.requireSuccess("addresses").out());
  }
}
