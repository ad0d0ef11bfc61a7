package dev.polis.kubernetes.worker;

import dev.polis.api.containers.ContainersStatus;
import dev.polis.api.containers.Isolation;
import dev.polis.api.containers.Sandbox;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.process.Account;
import dev.polis.process.ChildOwner;
import dev.polis.process.ProcessSpec;
import java.util.List;
import java.util.Map;

/**
 * Writes the DNS server's files and command line.
 *
 * <p>The DNS server reads its client certificate again within five minutes after a change of the
 * file.
 */
final class DnsFiles {

  static final String NAME = "coredns";

  /**
   * The port of the DNS server's readiness, at the sandbox's address. Many Pods that share the
   * node's network use its usual ports.
   */
  static final int READY_PORT = 10_253;

  private final WorkerPlan plan;
  private final WorkerFiles files;

  DnsFiles(WorkerPlan plan, WorkerFiles files) {
    this.plan = plan;
    this.files = files;
  }

  /** Selects the account of the DNS server on a node that is root. */
  ChildOwner owner() throws InterruptedException {
    return ChildOwner.of(Account.COREDNS, plan.programs().program(NAME), files.own(), false);
  }

  /**
   * Writes the files and returns the description of the DNS server's process: inside the sandbox it
   * changes to its account, whose only right is to listen at port 53. The service proxy, which
   * reads some of these files too, is root.
   */
  ProcessSpec prepare(ContainersStatus.Running runtime, ChildOwner owner)
      throws FileException, InterruptedException {
    for (FilePlacement each :
        List.of(
            files.ca,
            files.netservices,
            files.netservicesKey,
            files.netservicesKubeconfig,
            files.corefile)) {
      owner.give(each);
    }
    String corefile = corefile();
    WorkerFiles.write(files.corefile, corefile);
    WorkerFiles.write(
        files.netservicesKubeconfig,
        Kubeconfig.text(plan.balancer(), files.ca, files.netservices, files.netservicesKey));
    Sandbox sandbox = runtime.sandbox();
    return ProcessSpec.of(
            NAME,
            sandbox.command(
                owner.listeningCommand(
                    List.of(
                        plan.programs().program(NAME).toString(),
                        "-conf",
                        files.corefile.toString()))))
        .withEnvironment(Map.of("PATH", sandbox.path(), "HOME", "/root"))
        .withFingerprint(plan.programs().digest(NAME) + corefile);
  }

  /** Returns the text of the configuration file. */
  String corefile() {
    boolean machine = plan.isolation() == Isolation.MACHINE;
    // In a sandbox no other program uses the port, and there are no other name servers.
    String bind = machine ? "    bind " + plan.dns().getHostAddress() + "\n" : "";
    String forward = machine ? "    forward . /etc/resolv.conf\n" : "";
    return """
        .:53 {
        %s    errors
            ready %s:%d
            kubernetes %s in-addr.arpa ip6.arpa {
                kubeconfig %s
                pods insecure
                fallthrough in-addr.arpa ip6.arpa
            }
        %s    cache 30
            loadbalance
        }
        """
        .formatted(
            bind,
            plan.addresses().worker().getHostAddress(),
            READY_PORT,
            plan.domain(),
            files.netservicesKubeconfig,
            forward);
  }
}
