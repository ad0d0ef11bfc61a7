package dev.polis.consensus;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusCa;
import dev.polis.api.consensus.ConsensusCandidate;
import dev.polis.api.consensus.ConsensusIdentity;
import dev.polis.api.consensus.ConsensusInvitation;
import dev.polis.api.consensus.ConsensusMember;
import dev.polis.api.consensus.ConsensusOverview;
import dev.polis.api.consensus.ConsensusStanding;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.consensus.ConsensusVoter;
import dev.polis.api.consensus.LocalMember;
import dev.polis.api.metrics.MetricsAnswer;
import dev.polis.api.metrics.MetricsExporter;
import dev.polis.api.network.Network;
import dev.polis.api.storage.Storage;
import dev.polis.base.boot.BootReport;
import dev.polis.base.values.Value;
import dev.polis.etcd.EtcdAccess;
import dev.polis.handover.HandOvers;
import dev.polis.health.HealthRegistry;
import dev.polis.logtree.LogTree;
import dev.polis.pki.NodeId;
import dev.polis.process.ProcessManager;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcHost;
import dev.polis.supervision.Supervisor;
import io.grpc.BindableService;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** Wires the consensus organ. */
@Component(
    service = {Consensus.class, MetricsExporter.class},
    configurationPid = "dev.polis.consensus",
    immediate = true)
@Designate(ocd = ConsensusConfig.class)
public final class ConsensusComponent implements Consensus, MetricsExporter {

  private final HandOvers.Membership<ConsensusService> membership;
  private final ConsensusService service;
  private final CallStreams streams = new CallStreams();
  private final ServiceRegistration<BindableService> operators;

  /** Starts the organ; Declarative Services call this. */
  @Activate
  public ConsensusComponent(
      BundleContext bundle,
      ConsensusConfig config,
      @Reference BootReport boot,
      @Reference LogTree logs,
      @Reference Supervisor supervisor,
      @Reference HealthRegistry health,
      @Reference HandOvers handOvers,
      @Reference ProcessManager processes,
      @Reference Storage storage,
      @Reference Network network) {
    ConsensusSettings settings = ConsensusSettings.of(config);
    ConsensusService.Parts parts =
        new ConsensusService.Parts(
            storage.root(),
            storage.data(),
            network.status(),
            network.clock(),
            processes,
            supervisor,
            health,
            logs,
            boot);
    this.membership =
        handOvers.join(
            "consensus", predecessor -> ConsensusService.start(settings, parts, predecessor));
    this.service = membership.instance();
    this.operators =
        bundle.registerService(
            BindableService.class,
            new EtcdApi(service.operations(), streams),
            new Hashtable<>(Map.of(RpcHost.LISTENER, RpcHost.MANAGEMENT)));
  }

  /** Withdraws the endpoint, which lets running calls finish, then ends the streams. */
  @Deactivate
  void deactivate() {
    operators.unregister();
    streams.close();
    membership.leave();
  }

  @Override
  public void startNew(ConsensusIdentity identity) {
    service.startNew(identity);
  }

  @Override
  public void startExisting(ConsensusIdentity identity) {
    service.startExisting(identity);
  }

  @Override
  public void join(ConsensusIdentity identity, ConsensusInvitation invitation) {
    service.join(identity, invitation);
  }

  @Override
  public void discard() throws InterruptedException {
    service.discard();
  }

  @Override
  public void erase() throws InterruptedException {
    service.erase();
  }

  @Override
  public Optional<LocalMember> localMember() {
    return service.localMember();
  }

  @Override
  public ConsensusCandidate candidate() {
    return service.candidate();
  }

  @Override
  public ConsensusStanding admit(NodeId node, ConsensusCandidate candidate)
      throws InterruptedException {
    return service.admit(node, candidate);
  }

  @Override
  public void expel(String memberId) throws InterruptedException {
    service.expel(memberId);
  }

  @Override
  public List<ConsensusVoter> voters() throws InterruptedException {
    return service.voters();
  }

  @Override
  public ConsensusCa ca() throws InterruptedException {
    return service.ca();
  }

  @Override
  public ConsensusCa rotateCa() throws InterruptedException {
    return service.rotateCa();
  }

  @Override
  public ConsensusCa retireCa() throws InterruptedException {
    return service.retireCa();
  }

  @Override
  public void stop() throws InterruptedException {
    service.stop();
  }

  @Override
  public Value<ConsensusStatus> status() {
    return service.status();
  }

  @Override
  public EtcdAccess access(String user) {
    return service.access(user);
  }

  @Override
  public ConsensusMember memberInfo() {
    return service.memberInfo();
  }

  @Override
  public ConsensusOverview overview() throws InterruptedException {
    return service.overview();
  }

  @Override
  public String exporterName() {
    return service.exporterName();
  }

  @Override
  public MetricsAnswer scrape() {
    return service.scrape();
  }
}
