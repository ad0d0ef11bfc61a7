package dev.polis.kubernetes.worker;

import com.google.gson.JsonObject;
import dev.polis.api.cluster.ClusterManager;
import dev.polis.api.cluster.ClusterStatus;
import dev.polis.api.containers.Containers;
import dev.polis.api.kubernetes.KubernetesNames;
import dev.polis.api.network.Network;
import dev.polis.api.roles.RolePlugin;
import dev.polis.api.storage.Storage;
import dev.polis.base.boot.StopReason;
import dev.polis.base.values.MutableValue;
import dev.polis.base.values.Value;
import dev.polis.base.values.Watcher;
import dev.polis.health.HealthRegistry;
import dev.polis.health.HealthScope;
import dev.polis.health.StatusHealth;
import dev.polis.kubernetes.balancer.HandshakeProbe;
import dev.polis.kubernetes.client.KubeClient;
import dev.polis.kubernetes.control.RestoredFiles;
import dev.polis.kubernetes.control.RootPrograms;
import dev.polis.kubernetes.settings.KubernetesPrograms;
import dev.polis.kubernetes.settings.KubernetesSettings;
import dev.polis.logtree.Log;
import dev.polis.logtree.convert.KlogConverter;
import dev.polis.logtree.convert.LineConverter;
import dev.polis.pki.CaBundle;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsTrust;
import dev.polis.process.ChildOwner;
import dev.polis.process.ManagedProcess;
import dev.polis.process.ProcessManager;
import dev.polis.process.ReadyProbe;
import dev.polis.rpc.resolver.LeaderConnection;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/** Does the work of the role KubernetesWorker. */
public final class WorkerService implements RolePlugin {

  /** The role. */
  public static final String ROLE = "KubernetesWorker";

  /**
   * Holds the services that the role uses.
   *
   * @param curatorPort the port of each node's curator listener
   * @param podPatience the time for the start of a Pod before health names it
   */
  public record Parts(
      ClusterManager cluster,
      Network network,
      Storage storage,
      Containers containers,
      ProcessManager processes,
      HealthRegistry health,
      int curatorPort,
      Duration podPatience) {}

  private final KubernetesSettings settings;
  private final Parts parts;
  private final WorkerSite site;

  /** Creates the role without a start. */
  public WorkerService(KubernetesSettings settings, Parts parts) {
    this.settings = settings;
    this.parts = parts;
    this.site = new WorkerSite(settings, parts.network(), parts.storage());
  }

  /**
   * Runs the worker's programs until it is cancelled. It does not fail itself, so that the role
   * also ends in order while the programs cannot start.
   */
  @Override
  public void run(Context context) throws Exception {
    MutableValue<Boolean> working = new MutableValue<>();
    Shared shared = new Shared(new MutableValue<>(), new MutableValue<>());
    try (HealthScope health = parts.health().role(ROLE, "");
        Watcher<Boolean> watcher = working.watch()) {
      // The load balancer starts first and ends last.
      if (WorkerRequirements.isRoot(System.getProperty("user.name"))) {
        context.run(
            "balancer", new BalancerTask(settings, site, shared.controllers(), shared.probe()));
      }
      context.run("worker", child -> work(child, health, shared, working));
      watcher.get();
      context.healthy();
      context.awaitCancelled();
    } finally {
      if (context.stopReason().filter(StopReason::endsWork).isPresent()) {
        // Also ends programs of an earlier run that this run has not adopted.
        end(context);
      }
    }
  }

  /**
   * Holds the values that survive one run of the programs.
   *
   * @param controllers the addresses of the API servers, once known
   * @param credentials the credentials of the worker's programs, once known
   */
  private record Shared(
      MutableValue<Set<InetSocketAddress>> controllers,
      MutableValue<WorkerCredentials> credentials) {

    HandshakeProbe probe() {
      return new HandshakeProbe(() -> credentials.peek().map(known -> known.certificates().ca()));
    }
  }

  private void work(
      Context context, HealthScope health, Shared shared, MutableValue<Boolean> working)
      throws Exception {
    NodeCredentials self = awaitCredentials();
    InetAddress address = site.awaitAddress();
    WorkerPlan plan = plan(self, address);
    WorkerFiles files = site.awaitFiles();
    site.claim(plan.addresses());
    try (LeaderConnection leader =
        new LeaderConnection(
            this::credentials,
            new InetSocketAddress(address, parts.curatorPort()),
            context.subLog("resolver"))) {
      serve(context, plan, files, leader, health, shared, working);
    } finally {
      if (context.stopReason().filter(StopReason::endsWork).isPresent()) {
        new MachineNetwork(plan).clean(context.log());
      }
    }
  }

  private void serve(
      Context context,
      WorkerPlan plan,
      WorkerFiles files,
      LeaderConnection leader,
      HealthScope health,
      Shared shared,
      MutableValue<Boolean> working)
      throws InterruptedException, RestartRequest {
    MutableValue<WorkerCredentials> credentials = shared.credentials();
    try (KubeClient kubelet = client(plan, credentials, WorkerCredentials::kubelet);
        KubeClient provisioner = client(plan, credentials, WorkerCredentials::provisioner)) {
      // The order of the end is the reverse of the start: drain the node, end the kubelet, delete
      // the Node object, then the network services, then the runtime.
      startAccess(context, plan, files, leader, health, shared);
      context.run("runtime", new RuntimeTask(parts.containers(), plan.sandbox(files), health));
      ApiServerWait api = new ApiServerWait(() -> kubelet.answers(KubeClient.READY));
      Programs programs = new Programs(context, plan, files, credentials, api, health);
      startNetworkServices(programs);
      MutableValue<Optional<JsonObject>> node = new MutableValue<>();
      context.run("node-watch", new NodeWatch(kubelet, plan, credentials, node));
      NodeHealth judge =
          new NodeHealth(
              plan,
              files.kubelet(),
              () -> parts.processes().find(KubeletFiles.NAME).map(ManagedProcess::pid));
      context.run("node-health", StatusHealth.task(node, health, judge::ofNode));
      context.run(
          "pod-health",
          new PodHealth(
              new PodHealth.Reader(
                  kubelet::each,
                  path -> provisioner.find(path).map(KubeClient::items).orElse(List.of()),
                  plan.node()),
              credentials,
              health,
              parts.podPatience(),
              InstantSource.system()));
      context.run(
          "volumes", new VolumeProvisioner(provisioner, plan, files.volumes(), credentials));
      context.run("node-object", at -> whenRemoved(at, () -> deleteNode(at.log(), kubelet, plan)));
      startKubelet(programs);
      context.run(
          "pod-network",
          new PodNetworkTask(parts.containers(), plan, files, node, programs.health()));
      context.run(
          "drain", at -> whenRemoved(at, () -> new NodeDrain(kubelet, plan, at.log()).run()));
      context.healthy();
      working.set(true);
      site.awaitOther(plan.addresses());
    }
  }

  private void startAccess(
      Context context,
      WorkerPlan plan,
      WorkerFiles files,
      LeaderConnection leader,
      HealthScope health,
      Shared shared) {
    context.run(
        "certificates",
        new CertificateTask(
            leader, plan, files, health, shared.credentials(), InstantSource.system()));
    context.run(
        "controllers",
        new ControllerWatch(
            leader, settings, new KnownControllers(files.controllers), shared.controllers()));
    context.run(
        "controllers-health",
        StatusHealth.task(shared.controllers(), health, NodeHealth::ofControllers));
  }

  /** Holds the values for the start of the worker's programs. */
  private record Programs(
      Context context,
      WorkerPlan plan,
      WorkerFiles files,
      Value<WorkerCredentials> credentials,
      ApiServerWait api,
      HealthScope health) {

    /**
     * Restores keys and certificates before each start, since something else may have changed them.
     */
    ChildTask.Preparation restored(ChildTask.Preparation preparation) {
      return runtime -> {
        List<String> changed = credentials.peek().orElseThrow().write(files);
        RestoredFiles.tell(changed, health, context.log());
        return preparation.prepare(runtime);
      };
    }
  }

  private void startNetworkServices(Programs programs) {
    Context context = programs.context();
    MachineNetwork network = new MachineNetwork(programs.plan());
    DnsFiles dns = new DnsFiles(programs.plan(), programs.files());
    context.run(
        DnsFiles.NAME,
        child(
            programs,
            runtime -> {
              network.addDnsAddress(runtime.sandbox());
              ChildOwner owner = dns.owner();
              RootPrograms.tell(Map.of(DnsFiles.NAME, owner), programs.health(), context.log());
              return dns.prepare(runtime, owner);
            },
            // The DNS server also answers for names outside the cluster, for which it needs no API
            // server.
            new ApiServerWait(ReadyProbe.running()),
            DnsFiles.READY_PORT,
            "/ready",
            LineConverter.raw()));
    context.run(
        ProxyFiles.NAME,
        child(
            programs,
            new ProxyFiles(programs.plan(), programs.files())::prepare,
            programs.api(),
            ProxyFiles.HEALTH_PORT,
            // The other path also fails for a node under deletion.
            "/livez",
            new KlogConverter()));
    context.run(
        "service-rules",
        new ServiceRules(
            () -> network.tables(parts.containers().status()),
            parts.processes(),
            programs.health(),
            InstantSource.system()));
  }

  private void startKubelet(Programs programs) {
    programs
        .context()
        .run(
            KubeletFiles.NAME,
            child(
                programs,
                new KubeletFiles(programs.plan(), programs.files())::prepare,
                programs.api(),
                KubeletFiles.HEALTH_PORT,
                "/healthz",
                new KlogConverter()));
  }

  private ChildTask child(
      Programs programs,
      ChildTask.Preparation preparation,
      ApiServerWait api,
      int port,
      String path,
      LineConverter converter) {
    InetSocketAddress at = new InetSocketAddress(programs.plan().addresses().worker(), port);
    return new ChildTask(
        parts.processes(),
        parts.containers().status(),
        programs.credentials(),
        programs.restored(preparation),
        api,
        new ChildTask.Probe(at, path),
        parts.health(),
        converter);
  }

  private static KubeClient client(
      WorkerPlan plan,
      Value<WorkerCredentials> credentials,
      Function<WorkerCredentials, TlsIdentity> user) {
    TlsTrust.Source trust =
        TlsTrust.Source.of(
            () -> CaBundle.of(credentials.peek().orElseThrow().certificates().ca()),
            Optional::empty);
    return new KubeClient(
        plan.balancer(),
        () -> credentials.peek().map(user),
        TlsTrust.server(trust, KubernetesNames.SERVER_NAME));
  }

  // ---- the end of the role

  private static boolean removed(Context context) {
    return context.stopReason().filter(StopReason.ROLE_REMOVED::equals).isPresent();
  }

  /** Runs an action if the role is removed, and not at another end of the run. */
  private static void whenRemoved(Context context, EndOfRole work) throws InterruptedException {
    context.healthy();
    try {
      context.awaitCancelled();
    } finally {
      if (removed(context)) {
        work.run();
      }
    }
  }

  /** Undoes a part of the role's changes. */
  @FunctionalInterface
  private interface EndOfRole {
    void run() throws InterruptedException;
  }

  private static void deleteNode(Log log, KubeClient kubelet, WorkerPlan plan)
      throws InterruptedException {
    try {
      kubelet.delete(plan.nodePath());
      log.info("The node has deleted the Node object %s.", plan.node());
    } catch (IOException e) {
      log.warning(
          "The node could not delete the Node object %s: %s; delete it with 'kubectl delete node'.",
          plan.node(), e.getMessage());
    }
  }

  /** Stops the worker's programs in order, also those of an earlier instance. */
  private void end(Context context) throws InterruptedException, IOException {
    for (String name : KubernetesPrograms.ofWorker()) {
      parts.processes().stop(name);
    }
    parts.containers().stop();
    site.release(context.log());
    if (removed(context)) {
      site.files().deleteConfiguration();
    }
  }

  // ---- decisions before the start

  private WorkerPlan plan(NodeCredentials self, InetAddress address)
      throws WorkerException, InterruptedException {
    WorkerRequirements requirements = new WorkerRequirements(settings);
    requirements.requireRoot(System.getProperty("user.name"));
    KubernetesPrograms programs = requirements.programs();
    return new WorkerPlan(
        self.id(), settings, programs, site.addresses(address), site.isolation(address));
  }

  private NodeCredentials awaitCredentials() throws InterruptedException {
    try (Watcher<ClusterStatus> watcher = parts.cluster().status().watch()) {
      return watcher.get(status -> status.credentials().isPresent()).credentials().orElseThrow();
    }
  }

  private NodeCredentials credentials() {
    return parts.cluster().status().peek().orElseThrow().credentials().orElseThrow();
  }
}
