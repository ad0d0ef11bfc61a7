package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.SandboxRequest;
import dev.polis.process.Commands;
import dev.polis.process.SandboxProcesses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Makes mounts and network devices in new namespaces, once. */
final class SandboxSetup {

  /**
   * The script that runs inside: /usr gets the programs that the machine lacks, writes to /var and
   * /etc stay in memory, and /run is empty. The script binds again the folders of the node that
   * these mounts would hide: an open descriptor still leads to them.
   *
   * <p>If the machine's mounts are private, as without systemd, the sandbox does not see later
   * unmounts. It would keep the data volume of another node busy, which that node could not mount
   * again; so the script unmounts such volumes at once.
   *
   * <p>256 MiB are for CNI's leases, links of logs and what Pods write to paths of the host.
   */
  private static final String SCRIPT =
      """
      set -eu
      export PATH=/usr/sbin:/usr/bin:/sbin:/bin
      state=$1 programs=$2 scratch=$3 address=$4 host=$5 resolver=$6 image=$7 runtime=$8 mark=$9
      while read -r _ _ _ _ point _ rest; do
        case "$rest" in
          '- xfs /dev/loop'* | '- fuse.gocryptfs '*) ;;
          *) continue ;;
        esac
        case "$point/" in "$state"/*) continue ;; esac
        case "$state/ $programs/" in "$point"/* | *" $point"/*) continue ;; esac
        umount -l "$point"
      done </proc/self/mountinfo
      mount --make-rshared /
      mount -t tmpfs -o mode=0755,size=256m polis-sandbox "$scratch"
      exec 7<"$state" 8<"$programs"
      back() {
        case "$state/" in "$1"/*) mkdir -p "$state"; mount -c --rbind /proc/self/fd/7 "$state";; esac
        case "$programs/" in "$1"/*) mkdir -p "$programs"; mount -c --rbind /proc/self/fd/8 "$programs";; esac
      }
      for top in var etc; do
        mkdir -p "$scratch/$top" "$scratch/$top.work"
        mount -t overlay -o "lowerdir=/$top,upperdir=$scratch/$top,workdir=$scratch/$top.work" overlay "/$top"
        back "/$top"
      done
      if [ -d "$programs/root/usr" ]; then
        mount -t overlay -o "lowerdir=$programs/root/usr:/usr" overlay /usr
        back /usr
      fi
      mount -t tmpfs -o mode=0755 polis-run /run
      mkdir -p /run/lock
      back /run
      rm -f /etc/resolv.conf
      printf '%s' "$resolver" > /etc/resolv.conf
      if [ -n "$image" ]; then
        mount -t ext4 -o loop "$image" "$runtime"
        shift 9
        for folder; do
          mkdir -p "$folder" "$runtime/${folder##*/}"
          mount --bind "$runtime/${folder##*/}" "$folder"
        done
      fi
      ip link set dev lo up
      ip address add "$address/32" dev eth0
      ip link set dev eth0 up
      ip route add "$host" dev eth0 scope link
      ip route add default via "$host" dev eth0
      echo 1 > /proc/sys/net/ipv4/ip_forward
      printf '%s' "$mark" > /run/polis-sandbox
      """;

  /** The file in which systemd-resolved lists its own servers. */
  private static final Path RESOLVED = Path.of("/run/systemd/resolve/resolv.conf");

  private static final Path RESOLVER = Path.of("/etc/resolv.conf");

  private final ContainersFiles files;
  private final Path programs;
  private final SystemCommands commands = new SystemCommands();

  SandboxSetup(ContainersFiles files, Path programs) {
    this.files = files;
    this.programs = programs;
  }

  /** Returns whether the setup of a process's namespaces was completed. */
  static boolean isComplete(long process) {
    return Files.exists(SandboxProcesses.mark(process));
  }

  /** Sets up the namespaces of a process. */
  void complete(SandboxRequest request, long process, boolean imageFile)
      throws IOException, InterruptedException {
    link(request, process);
    List<String> script =
        new ArrayList<>(
            List.of(
                "nsenter",
                "--target",
                Long.toString(process),
                "--net",
                "--mount",
                "sh",
                "-c",
                SCRIPT,
                "sandbox",
                files.state().toString(),
                programs.toString(),
                files.scratch().path().toString(),
                request.address().getHostAddress(),
                request.hostAddress().getHostAddress(),
                resolver(),
                imageFile ? files.image().path().toString() : "",
                files.runtime().path().toString(),
                SandboxRecord.cgroup(request)));
    request.folders().forEach(folder -> script.add(folder.toString()));
    Commands.Result said = commands.run(script);
    if (!said.ok()) {
      throw new ContainersException(
          "the node could not set up the sandbox: \"%s\""
              .formatted(said.output().replace('\n', ' ')));
    }
  }

  /** Makes the pair of network devices between the host and the sandbox. */
  private void link(SandboxRequest request, long process) throws InterruptedException {
    String device = SandboxRecord.hostDevice(request);
    removeDevice(commands, device);
    commands.require(
        "link the sandbox to the machine",
        List.of(
            "ip",
            "link",
            "add",
            device,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            Long.toString(process)));
    commands.require("start " + device, List.of("ip", "link", "set", "dev", device, "up"));
    commands.require(
        "lead %s to the sandbox".formatted(request.address().getHostAddress()),
        List.of(
            "ip",
            "route",
            "replace",
            request.address().getHostAddress() + "/32",
            "dev",
            device,
            "src",
            request.hostAddress().getHostAddress()));
  }

  /** Removes a network device of the host with its routes, if it exists. */
  static void removeDevice(SystemCommands commands, String device) throws InterruptedException {
    if (Files.exists(Path.of("/sys/class/net", device))
        || commands.run(List.of("ip", "link", "show", "dev", device)).ok()) {
      commands.run(List.of("ip", "link", "delete", "dev", device));
    }
  }

  /** Returns a resolv.conf without servers on loopback addresses, which do not work inside. */
  private static String resolver() throws IOException {
    Path source = Files.isReadable(RESOLVED) ? RESOLVED : RESOLVER;
    if (!Files.isReadable(source)) {
      return "";
    }
    try (Stream<String> lines = Files.lines(source)) {
      return lines
          .filter(line -> !line.matches("\\s*nameserver\\s+(127\\.|::1).*"))
          .map(line -> line + "\n")
          .collect(Collectors.joining());
    }
  }
}
