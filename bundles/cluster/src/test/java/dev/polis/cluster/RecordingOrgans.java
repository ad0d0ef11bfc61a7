package dev.polis.cluster;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.polis.api.consensus.Consensus;
import dev.polis.api.consensus.ConsensusStatus;
import dev.polis.api.consensus.LocalMember;
import dev.polis.api.curator.BootstrapOutcome;
import dev.polis.api.curator.BootstrapRequest;
import dev.polis.api.curator.Curator;
import dev.polis.api.curator.CuratorStatus;
import dev.polis.api.network.ClockStatus;
import dev.polis.api.network.Network;
import dev.polis.api.network.NetworkStatus;
import dev.polis.api.storage.DataStatus;
import dev.polis.api.storage.EnrolmentJournalStore;
import dev.polis.api.storage.MachineAttester;
import dev.polis.api.storage.MachineShareStore;
import dev.polis.api.storage.RecoveryShareStore;
import dev.polis.api.storage.RecoveryStatus;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.SealedConfigurationStore;
import dev.polis.api.storage.Storage;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.api.storage.UnlockKeys;
import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.StopReason;
import dev.polis.base.boot.Wait;
import dev.polis.base.values.MutableValue;
import dev.polis.etcd.EtcdAccess;
import dev.polis.files.FileException;
import dev.polis.files.Stored;
import dev.polis.files.layout.Root;
import dev.polis.logtree.Secret;
import dev.polis.pki.CaBundle;
import dev.polis.pki.CertificateAuthority;
import dev.polis.pki.NodeCredentials;
import dev.polis.pki.NodeEndpoint;
import dev.polis.pki.NodeId;
import dev.polis.rpc.RpcHost;
import dev.polis.rpc.RpcRevocations;
import dev.polis.wire.cluster.AttestationEvidence;
import dev.polis.wire.cluster.TpmKeys;
import dev.polis.wire.storage.EnrolmentJournal;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.nio.file.Path;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Stands for all organs: records the manager's calls in order, and fails at the call that a test
 * names. The real organs have tests beside their own code, and the integration tests run them
 * together; these tests concern the order and the failures.
 */
final class RecordingOrgans {

  final List<String> calls = new CopyOnWriteArrayList<>();
  final List<String> waits = new CopyOnWriteArrayList<>();
  final List<String> fatals = new CopyOnWriteArrayList<>();
  final List<String> consensusUsers = new CopyOnWriteArrayList<>();
  final MutableValue<String> homeSummary = new MutableValue<>();
  Runnable onHome = () -> {};
  final MutableValue<CuratorStatus> curatorStatus = new MutableValue<>(new CuratorStatus.Idle());
  final MutableValue<ConsensusStatus> consensusStatus =
      new MutableValue<>(new ConsensusStatus.Stopped());
  final MutableValue<ClockStatus> clock = new MutableValue<>(new ClockStatus.NotKept("", ""));
  private final MutableValue<NetworkStatus> networkStatus =
      new MutableValue<>(new NetworkStatus.Up(InetAddress.getLoopbackAddress()));
  private final MutableValue<DataStatus> dataStatus =
      new MutableValue<>(new DataStatus.NotMounted("not asked for"));

  /** The RPC host's knowledge of revoked certificates. */
  final MutableValue<RpcRevocations> revocations = new MutableValue<>(new RpcRevocations.None());

  final MutableValue<CaBundle> authorities = new MutableValue<>();

  private final Root root;
  private CertificateAuthority authority = CertificateAuthority.create("test cluster");
  private final String failingCall;
  private volatile Optional<EnrolmentJournal> journal = Optional.empty();
  private volatile Optional<SealedConfiguration> sealed = Optional.empty();
  private volatile String begun = "";
  volatile boolean consensusComesUp = true;

  /** The member of etcd on this node's disk. */
  volatile Optional<LocalMember> localMember = Optional.empty();

  volatile Consumer<String> onCall = _ -> {};

  /** The keys of the latest request for a volume; null before the first. */
  volatile UnlockKeys volumeKeys;

  /** The cluster's half of the key that opened a volume last; empty if none was used. */
  volatile String clusterUnlockKey = "";

  /** The same as bytes. */
  volatile byte[] clusterUnlockKeyBytes = {};

  /** The half that the recovery share holds, by the key that opens it; empty without a share. */
  volatile Map<Secret, Secret> share = Map.of();

  /** Says whether this machine has a TPM. */
  volatile boolean tpm;

  /** Whether the TPM fails to prove anything. */
  volatile boolean tpmFails;

  /** Says whether the sealed configuration was bound to the machine. */
  volatile boolean bound = true;

  /** The half that the TPM has sealed; empty without one. */
  volatile Optional<Secret> machineShare = Optional.empty();

  /** The time limit of each wait for consensus, oldest first. */
  final List<Duration> waitedForConsensus = new CopyOnWriteArrayList<>();

  /** The latest bootstrap request to the curator; null before the first. */
  volatile BootstrapRequest requested;

  /** The curators that the latest request names to follow; empty before the first. */
  volatile Set<NodeEndpoint> followed = Set.of();

  /** Replaces the result of reading the sealed configuration; null to return the written one. */
  volatile Stored<SealedConfiguration> sealedReading;

  volatile Runnable beforeFailure = () -> {};
  volatile Supplier<X509Certificate> renewals =
      () -> {
        throw new AssertionError("a renewal was not expected");
      };

  RecordingOrgans(Path directory, String failingCall) {
    this.root = Root.at(directory);
    this.failingCall = failingCall;
  }

  /** Takes the state that another run left on the disk and in the cluster. */
  void takeOver(RecordingOrgans before) {
    journal = before.journal;
    sealed = before.sealed;
    authority = before.authority;
  }

  /** Opens the data volume, as storage does at a start of a node with a plain one. */
  void openVolume() {
    dataStatus.set(new DataStatus.Mounted(StorageSecurity.INSECURE, "a directory"));
  }

  CertificateAuthority authority() {
    return authority;
  }

  Optional<EnrolmentJournal> journal() {
    return journal;
  }

  Optional<SealedConfiguration> sealed() {
    return sealed;
  }

  Root root() {
    return root;
  }

  /** Returns the name of the step that was begun last. */
  String lastBegun() {
    return begun;
  }

  EnrolmentOrgans organs(Duration readyWithin) {
    return new EnrolmentOrgans(
        fake(Storage.class, this::storage),
        fake(Network.class, this::network),
        consensus(),
        fake(Curator.class, this::curator),
        fake(RpcHost.class, this::rpc),
        new Boot(),
        readyWithin);
  }

  private void record(String call) {
    calls.add(call);
    onCall.accept(call);
    if (call.equals(failingCall)) {
      beforeFailure.run();
      throw new IllegalStateException("injected failure of " + call);
    }
  }

  private static <T> T fake(Class<T> type, InvocationHandler handler) {
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private Object storage(Object self, java.lang.reflect.Method method, Object[] arguments) {
    return switch (method.getName()) {
      case "root" -> root;
      case "data" -> dataStatus;
      case "preferred" -> StorageSecurity.INSECURE;
      case "recovery" -> new RecoveryStatus.NotNeeded();
      case "enrolmentJournal" -> journalStore();
      case "sealedConfiguration" -> sealedStore();
      case "recoveryShare" -> fake(RecoveryShareStore.class, this::share);
      case "machineShare" -> fake(MachineShareStore.class, this::machineShare);
      case "attester" -> attester();
      case "mountNew", "mountExisting" -> {
        if (method.getName().equals("mountNew")) {
          volumeKeys = (UnlockKeys) arguments[1];
        } else if (arguments.length == 2) {
          clusterUnlockKeyBytes = ((Secret) arguments[1]).reveal();
          clusterUnlockKey = new String(clusterUnlockKeyBytes, US_ASCII);
        }
        record(method.getName());
        openVolume();
        yield null;
      }
      default -> {
        record(method.getName());
        yield null;
      }
    };
  }

  private Object share(Object self, java.lang.reflect.Method method, Object[] arguments) {
    record("recoveryShare." + method.getName());
    return switch (method.getName()) {
      case "exists" -> !share.isEmpty();
      case "open" -> share.get((Secret) arguments[0]);
      default -> null;
    };
  }

  private Object machineShare(Object self, java.lang.reflect.Method method, Object[] arguments) {
    return switch (method.getName()) {
      case "possible" -> tpm;
      case "exists" -> machineShare.isPresent();
      case "read" ->
          new Stored.Present<>(root.esp().machineShare().path(), machineShare.orElseThrow());
      case "write" -> {
        record("machine share");
        machineShare = Optional.of((Secret) arguments[0]);
        yield null;
      }
      case "erase" -> {
        machineShare = Optional.empty();
        yield null;
      }
      default -> throw new AssertionError(method);
    };
  }

  /** Returns a prover whose evidence is the nonce of the challenge, or that fails. */
  private MachineAttester attester() {
    return new MachineAttester() {
      @Override
      public boolean possible() {
        return tpm;
      }

      @Override
      public <E extends Exception> AttestationEvidence attest(
          PublicKey node, Challenger<E> challenger) throws FileException, E {
        if (tpmFails) {
          throw new FileException(FileException.Problem.IO, "the TPM", "repair it");
        }
        return AttestationEvidence.newBuilder()
            .setNonce(challenger.ask(TpmKeys.getDefaultInstance()).getNonce())
            .build();
      }
    };
  }

  private EnrolmentJournalStore journalStore() {
    return new EnrolmentJournalStore() {
      @Override
      public Stored<EnrolmentJournal> read() {
        Path path = root.esp().enrolmentJournal().path();
        return journal
            .<Stored<EnrolmentJournal>>map(present -> new Stored.Present<>(path, present))
            .orElseGet(() -> new Stored.None<>(path));
      }

      @Override
      public void advance(EnrolmentJournal next) {
        record("journal " + next.getStep());
        journal = Optional.of(next);
      }

      @Override
      public void erase() {
        record("journal erased");
        journal = Optional.empty();
      }
    };
  }

  private SealedConfigurationStore sealedStore() {
    return new SealedConfigurationStore() {
      @Override
      public Stored<SealedConfiguration> read() {
        if (sealedReading != null) {
          return sealedReading;
        }
        Path path = root.esp().sealedConfiguration().path();
        return sealed
            .<Stored<SealedConfiguration>>map(present -> new Stored.Present<>(path, present))
            .orElseGet(() -> new Stored.None<>(path));
      }

      @Override
      public void write(SealedConfiguration configuration) {
        record("sealed");
        sealed = Optional.of(configuration);
      }

      @Override
      public SealedConfiguration recover(Secret recoveryPrivateKey) {
        record("recovered");
        return sealed.orElseThrow();
      }

      @Override
      public void writeUnbound(SealedConfiguration configuration) {
        bound = false;
        write(configuration);
      }
    };
  }

  private Object network(Object self, java.lang.reflect.Method method, Object[] arguments)
      throws Throwable {
    if (method.getName().equals("status")) {
      return networkStatus;
    }
    if (method.getName().equals("clock")) {
      return clock;
    }
    if (method.isDefault()) {
      return InvocationHandler.invokeDefault(self, method, arguments);
    }
    record(method.getName());
    return null;
  }

  private Consensus consensus() {
    return fake(
        Consensus.class,
        (self, method, arguments) ->
            switch (method.getName()) {
              case "status" -> consensusStatus;
              case "localMember" -> localMember;
              case "startNew", "startExisting" -> {
                record(method.getName());
                localMember = Optional.of(new LocalMember("1", false, true));
                consensusStatus.set(
                    consensusComesUp
                        ? new ConsensusStatus.Running("m", "1", "2", List.of(), List.of())
                        : new ConsensusStatus.Starting("etcd to answer"));
                yield null;
              }
              case "erase" -> {
                record("erase");
                yield null;
              }
              case "access" -> {
                consensusUsers.add((String) arguments[0]);
                yield EtcdAccess.plaintext("http://127.0.0.1:7833");
              }
              case "awaitRunning" -> {
                waitedForConsensus.add((Duration) arguments[0]);
                yield InvocationHandler.invokeDefault(self, method, arguments);
              }
              default -> throw new AssertionError("an unexpected call to consensus: " + method);
            });
  }

  @SuppressWarnings("unchecked") // the types of the contract
  private Object curator(Object self, java.lang.reflect.Method method, Object[] arguments) {
    return switch (method.getName()) {
      case "status" -> curatorStatus;
      case "bootstrap" -> {
        BootstrapRequest request = (BootstrapRequest) arguments[0];
        requested = request;
        record("bootstrap");
        yield new BootstrapOutcome(authority.certificate(), authority.issueNode(request.nodeKey()));
      }
      case "serve" -> {
        record("serve");
        curatorStatus.set(new CuratorStatus.Leading(7));
        yield null;
      }
      case "follow" -> {
        record("follow");
        followed = Set.copyOf((Set<NodeEndpoint>) arguments[1]);
        curatorStatus.set(
            new CuratorStatus.Following(NodeId.of(authority.certificate().getPublicKey()), "", 0));
        yield null;
      }
      case "leave" -> {
        record("leave");
        curatorStatus.set(new CuratorStatus.Idle());
        yield null;
      }
      case "renew" -> {
        record("renew");
        yield renewals.get();
      }
      default -> throw new AssertionError("an unexpected call to the curator: " + method);
    };
  }

  private Object rpc(Object self, java.lang.reflect.Method method, Object[] arguments) {
    if (method.getName().equals("revocations")) {
      return revocations;
    }
    if (method.getName().equals("authorities")) {
      return authorities;
    }
    if (method.getName().equals("identify")) {
      authorities.set(((NodeCredentials) arguments[0]).ca());
    }
    if (method.getName().equals("identify") && arguments.length == 2) {
      revocations.set((RpcRevocations) arguments[1]);
    }
    record(method.getName());
    return null;
  }

  private final class Boot implements BootReport {
    @Override
    public Wait waiting(String name) {
      begun = name;
      waits.add(name);
      return new Wait() {
        @Override
        public void detail(String text) {
          waits.add(name + ": " + text);
        }

        @Override
        public void done(String result) {
          waits.add(name + " done");
          if (!result.isEmpty()) {
            waits.add(name + ": " + result);
          }
        }

        @Override
        public void close() {
          waits.add(name + " closed");
        }
      };
    }

    @Override
    public void home(String summary) {
      homeSummary.set(summary);
      onHome.run();
    }

    @Override
    public void fatal(String organ, Throwable cause) {
      fatals.add(organ + ": " + cause.getMessage());
    }

    @Override
    public void powerOff(String reason) {
      fatals.add("power off: " + reason);
    }

    @Override
    public StopReason stopReason() {
      return StopReason.CODE_REPLACED;
    }
  }
}
