package dev.polis.health;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds the remedy for a reason in a table, since the system's texts are the same in each organ and
 * child. So an organ need not know them.
 */
final class Remedies {
  /** The remedies by a pattern of the reason, the most specific first. */
  private static final Map<Pattern, String> KNOWN = new LinkedHashMap<>();

  static {
    String webhooks =
        "delete the configuration that has this webhook: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml shows it";
    know(
        "failed calling webhook \"([^\"]+)\".*https?://([^./]+)\\.([^./]+)\\.svc",
        "bring the Service $3/$2 of the webhook $1 back, with a Pod that runs; or " + webhooks);
    know(
        "failed calling webhook \"([^\"]+)\"",
        "start again what the webhook $1 calls; or " + webhooks);
    // Containerd knows a snapshot by its database: the files alone cannot be given back.
    know(
        "snapshots/\\d+/\\S*: no such file|snapshots?\\b.*(?:no such file|does not exist|not found)",
        "bring the runtime's files back, as something else deleted containerd's snapshots: remove the role KubernetesWorker, move the folder of the runtime aside, add the role, and load the images again");
    know(
        "the program \\S+ is not installed",
        "install that program: on Debian, apt-get install and the package of its name");
    know(
        "no space left on device|disk quota exceeded|file system of \\S+ is full|disk is full",
        "free some space: df -h shows which file system is full");
    know(
        "read-only file system|mounted read-only",
        "mount the file system writable; where the kernel made it read-only, dmesg says why");
    know(
        "too many open files",
        "raise the limit of descriptors, with ulimit -n or LimitNOFILE= of the unit, and restart the node");
    know(
        "address already in use|port is already in use",
        "end the program that listens there, which ss -ltnp names; if it is one of this node, set another port");
    // For an IPv6 address the same error also says that this machine has none to connect from.
    know(
        "\\[[0-9a-f:%.]+]:\\d+: connect: cannot assign requested address|cannot assign requested address: \\S*/\\[",
        "give an IPv4 address, or switch IPv6 on, also on lo: sysctl -w net.ipv6.conf.all.disable_ipv6=0; if ip -6 address shows addresses, ss -tanp shows what has the local ports");
    // A program that listens gets the same error for an address that the machine lacks.
    know(
        "connect: cannot assign requested address|cannot assign requested address: \\S*/\\S+:\\d",
        "give the machine more local ports: sysctl -w net.ipv4.ip_local_port_range='32768 60999'; or end what has them: ss -tanp");
    know(
        "a person or another program sent it",
        "nothing if that was meant; else find the sender: auditctl -a always,exit -F arch=b64 -S kill, then ausearch -sc kill");
    know(
        "unable to create native thread|resource temporarily unavailable",
        "raise the limit of processes and threads, with ulimit -u, TasksMax= of the unit or pids.max of its cgroup, and restart the node");
    know(
        "out of memory|cannot allocate memory|java heap space|outofmemory",
        "end something else on the machine, or give it more memory: free -h shows how much there is");
    know(
        "certificate[ _](?:has )?expired|not yet valid|is valid (?:from|until)|not ?after|not ?before",
        ClockRemedy.SET + "; restart the node if it does not come back");
    know(
        "not a directory|is no directory|NotDirectoryException|FileAlreadyExistsException|something else is there",
        "move aside what is there, where a folder must be: ls -ld shows what it is");
    know(
        "transport endpoint is not connected",
        "stop the node with polis down and start it again with polis up, which mounts it");
    know(
        "input/output error",
        "replace the disk: dmesg shows what failed; if it shows nothing and the data volume is authenticated, a block of it was altered: restore the file from a copy");
    know(
        "etcdserver: permission denied",
        "wait a minute: the node makes users and rights of etcd again that were taken away, and polisctl explain consensus names them");
    know(
        "permission denied|access denied|operation not permitted",
        "give the user that runs the node access to it: ls -ld shows the owner");
    know(
        "no address is known for the name|no such host|temporary failure in name resolution",
        "repair the resolution of names: getent hosts NAME shows whether it works");
    know(
        "no such file or directory|/\\S+ is not there",
        "bring back what is missing from a copy of this disk: ls -l shows what is there");
  }

  /** The clause of a reason that contains its own remedy. */
  private static final Pattern SAID =
      Pattern.compile(
          "[;:.] ((?:restore|bring|end|free|mount|move|give|remove|rename|set|raise|install|delete|make|unmount|name|choose|run|start) [^;]+)");

  private Remedies() {}

  private static void know(String words, String remedy) {
    KNOWN.put(Pattern.compile(words, Pattern.CASE_INSENSITIVE), remedy);
  }

  /** Returns the remedy for a reason: the reason's own, or else the known one. */
  static Optional<String> of(String reason) {
    Matcher said = SAID.matcher(reason);
    return said.find() ? Optional.of(said.group(1).strip()) : known(reason);
  }

  /** Returns the remedy of the table; $1 in it is the first group of its pattern. */
  static Optional<String> known(String reason) {
    for (Map.Entry<Pattern, String> known : KNOWN.entrySet()) {
      Matcher found = known.getKey().matcher(reason);
      if (found.find()) {
        String remedy = known.getValue();
        for (int group = 1; group <= found.groupCount(); group++) {
          remedy = remedy.replace("$" + group, found.group(group));
        }
        return Optional.of(remedy);
      }
    }
    return Optional.empty();
  }
}
