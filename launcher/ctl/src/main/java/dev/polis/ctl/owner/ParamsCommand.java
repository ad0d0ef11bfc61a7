package dev.polis.ctl.owner;

import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import dev.polis.api.curator.DomainNames;
import dev.polis.api.curator.TicketTerm;
import dev.polis.api.network.TimeServers;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Output;
import dev.polis.ctl.session.OwnerKeyFile;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.WireName;
import dev.polis.pki.Ed25519;
import dev.polis.pki.OwnerKey;
import dev.polis.pki.RecoveryKey;
import dev.polis.wire.UnknownFields;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.api.GetClusterInfoResponse;
import dev.polis.wire.api.GetRegisterTicketRequest;
import dev.polis.wire.api.NodeParameters;
import dev.polis.wire.api.NodeParameters.ClusterBootstrap;
import dev.polis.wire.api.NodeParameters.ClusterRegister;
import dev.polis.wire.common.ClusterConfiguration;
import dev.polis.wire.common.ClusterConfiguration.StorageSecurityPolicy;
import dev.polis.wire.common.ClusterConfiguration.TPMMode;
import dev.polis.wire.common.NodeLabels;
import dev.polis.wire.recovery.GetShareRequest;
import dev.polis.wire.recovery.GetShareResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Groups the commands for node parameters. */
@Command(name = "params", description = "Shows and makes node parameters.")
@Subcommands({ParamsCommand.Show.class, ParamsCommand.Make.class})
public final class ParamsCommand {

  /** Shows a file. */
  @Command(name = "show", description = "Shows a file of node parameters, without its ticket.")
  static final class Show extends CtlCommand {
    @Parameters(paramLabel = "FILE", description = ".json is JSON, all else binary")
    Path file;

    @Override
    protected ExitCode run() {
      NodeParameters.Builder parameters =
          read(file, NodeParameters.newBuilder(), "node parameters", "node parameters");
      if (parameters.hasClusterRegister()) {
        parameters.getClusterRegisterBuilder().clearRegisterTicket();
      }
      Output output = options().output == Output.yaml ? Output.yaml : Output.json;
      output.print(
          Document.single(JsonParser.parseString(json(parameters.build())).getAsJsonObject()),
          out());
      return ExitCode.OK;
    }
  }

  /**
   * Reads a file into a message; refuses a field that would not be shown.
   *
   * @param what the file should hold
   * @param ofWhat the same, to name a file of it
   */
  private static <B extends Message.Builder> B read(
      Path file, B message, String what, String ofWhat) {
    try {
      byte[] content = Files.readAllBytes(file);
      if (file.toString().endsWith(".json")) {
        JsonFormat.parser().merge(new String(content, StandardCharsets.UTF_8), message);
      } else {
        message.mergeFrom(content);
      }
    } catch (InvalidProtocolBufferException e) {
      throw new CtlException("%s holds no %s: %s".formatted(file, what, e.getMessage()), e);
    } catch (NoSuchFileException e) {
      throw new CtlException(
          ExitCode.NOT_FOUND, "%s does not exist; name a file of %s".formatted(file, ofWhat), e);
    } catch (IOException e) {
      throw new CtlException(file + " cannot be read: " + e, e);
    }
    List<String> unknown = UnknownFields.of(message.build());
    if (!unknown.isEmpty()) {
      throw new CtlException(
          "%s has unknown fields: %s; it was written for another version"
              .formatted(file, String.join(", ", unknown)));
    }
    return message;
  }

  static String json(NodeParameters parameters) {
    try {
      return JsonFormat.printer().print(parameters);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException("node parameters hold no Any that could be unknown", e);
    }
  }

  /** Makes parameters that create a cluster or join one, and the keys of its owner. */
  @Command(
      name = "make",
      description = {
        "Makes parameters that create a cluster, and the owner's two keys if they are not there:",
        "owner-key.pem proves who owns the cluster, recovery-key.pem opens an encrypted volume",
        "when no other node can help, and replaces a lost or stolen owner-key.pem. Keep copies of",
        "both, apart from each other.",
        "With --register it makes parameters that join the cluster of the present context."
      })
  static final class Make extends CtlCommand {
    @Option(
        names = "--owner",
        paramLabel = "DIR",
        required = true,
        description = "folder of the owner's keys")
    Path owner;

    @Option(
        names = "--owner-key",
        paramLabel = "FILE",
        description = {
          "the owner's key, if there is one already: PEM, PKCS #8 or METROPOLIS INITIAL OWNER",
          "PRIVATE KEY; it is copied to DIR (default: the key in DIR, made if there is none)"
        })
    Path ownerKey;

    @Option(
        names = "--owner-key-form",
        paramLabel = "FORM",
        description =
            "how a key that is made or copied is written: pkcs8 or metropolis (default: as it was,"
                + " and metropolis for a new one)")
    String ownerKeyForm = "";

    @Option(
        names = "--to",
        paramLabel = "FILE",
        required = true,
        description = "where to write the parameters; .json is JSON, all else binary")
    Path to;

    @Option(
        names = "--storage-policy",
        paramLabel = "POLICY",
        description =
            "permissive, needs-encryption, needs-encryption-and-authentication or needs-insecure"
                + " (default: permissive)")
    String storagePolicy; // null unless given

    @Option(
        names = "--tpm-mode",
        paramLabel = "MODE",
        description = "required, best-effort or disabled (default: best-effort)")
    String tpmMode; // null unless given

    @Option(
        names = "--domain",
        paramLabel = "NAME",
        description = "the cluster's domain (default: cluster.internal)")
    String domain; // null unless given

    @Option(
        names = "--sync-label",
        paramLabel = "REGEXP",
        description = {
          "copies node labels whose KEY=VALUE matches to Kubernetes; RE2 syntax, may be repeated"
        })
    List<String> syncLabels = List.of();

    @Option(
        names = "--network",
        paramLabel = "FILE",
        description = {
          "the machine's network_config: .json is JSON, all else binary; the node is then started",
          "with --manage-network"
        })
    Path network;

    @Option(
        names = "--time-server",
        paramLabel = "HOST",
        description = {
          "a time server by which a machine that boots Polis keeps its clock: a name or an address;",
          "may be repeated (default: none, and the clock is not kept)"
        })
    List<String> timeServers = List.of();

    @Option(
        names = "--no-recovery-key",
        description = {
          "leaves the recovery key out; an encrypted volume of a single node can then not be",
          "opened after it was stopped, and a lost owner's key not be replaced"
        })
    boolean noRecoveryKey;

    @Option(
        names = "--register",
        description = {
          "makes parameters that join the cluster of the present context, with its ticket,",
          "certificate and directory"
        })
    boolean register;

    @Option(
        names = "--label",
        paramLabel = "KEY=VALUE",
        description = "a label of the node; may be repeated")
    Map<String, String> labels = Map.of();

    /** When the ticket ends; at the epoch without a ticket whose end is known. */
    private Instant ticketEnd = Instant.EPOCH;

    @Override
    protected ExitCode run() throws InterruptedException {
      NodeParameters.Builder parameters = NodeParameters.newBuilder();
      if (network != null) {
        read(network, parameters.getNetworkConfigBuilder(), "network_config", "a network_config");
      }
      TimeServers.problem(timeServers)
          .ifPresent(
              problem -> {
                throw misused("--time-server: " + problem);
              });
      parameters.addAllTimeServer(timeServers);
      if (register) {
        refuseClusterOptions();
        parameters.setClusterRegister(clusterRegister());
      } else {
        parameters.setClusterBootstrap(clusterBootstrap());
      }
      byte[] content =
          to.toString().endsWith(".json")
              ? json(parameters.build()).getBytes(StandardCharsets.UTF_8)
              : parameters.build().toByteArray();
      CtlFiles.write(to, content);
      out()
          .printf(
              register ? "%s joins the cluster of %s%n" : "%s creates a cluster owned by %s%n",
              to,
              owner);
      if (ticketEnd.isAfter(Instant.EPOCH)) {
        out()
            .printf(
                "start the node with it before %s, when its ticket ends; then approve it: %s%n",
                ticketEnd, options().command("node approve NODE"));
      }
      return ExitCode.OK;
    }

    private ClusterBootstrap clusterBootstrap() {
      ClusterConfiguration.Builder configuration =
          ClusterConfiguration.newBuilder()
              .setClusterDomain(domain())
              .setTpmMode(
                  choice(TPMMode.class, "TPM_MODE_", "--tpm-mode", given(tpmMode, "best-effort")))
              .setStorageSecurityPolicy(
                  choice(
                      StorageSecurityPolicy.class,
                      "STORAGE_SECURITY_POLICY_",
                      "--storage-policy",
                      given(storagePolicy, "permissive")));
      for (String expression : syncLabels) {
        configuration
            .getKubernetesBuilder()
            .addNodeLabelsToSynchronizeBuilder()
            .setRegexp(expression);
      }
      return ClusterBootstrap.newBuilder()
          .setOwnerPublicKey(ByteString.copyFrom(ownerKey()))
          .setRecoveryPublicKey(recoveryPublicKey())
          .setLabels(labels())
          .setInitialClusterConfiguration(configuration)
          .build();
    }

    private static String given(String valueOrNull, String otherwise) {
      return valueOrNull == null ? otherwise : valueOrNull;
    }

    /** Asks the cluster for what a new node must know to join it. */
    private ClusterRegister clusterRegister() throws InterruptedException {
      GetClusterInfoRequest cluster = GetClusterInfoRequest.getDefaultInstance();
      GetRegisterTicketRequest join = GetRegisterTicketRequest.getDefaultInstance();
      try (Session session = Session.open(options())) {
        GetClusterInfoResponse info =
            session.call(() -> session.management().getClusterInfo(cluster));
        ByteString ticket =
            session.call(() -> session.management().getRegisterTicket(join)).getTicket();
        if (TicketTerm.isValid(ticket.toByteArray(), Instant.now())) {
          ticketEnd = TicketTerm.end(ticket.toByteArray());
        }
        return ClusterRegister.newBuilder()
            .setClusterDirectory(info.getClusterDirectory())
            .setCaCertificate(info.getCaCertificate())
            .setRegisterTicket(ticket)
            .setRecoveryPublicKey(recoveryPublicKey(session))
            .setLabels(labels())
            .build();
      }
    }

    /** Refuses options of a new cluster for a node that joins one. */
    private void refuseClusterOptions() {
      Map<String, Boolean> given =
          Map.of(
              "--domain", domain != null,
              "--tpm-mode", tpmMode != null,
              "--storage-policy", storagePolicy != null,
              "--sync-label", !syncLabels.isEmpty(),
              "--owner-key", ownerKey != null,
              "--owner-key-form", !ownerKeyForm.isEmpty());
      List<String> refused =
          given.entrySet().stream()
              .filter(Map.Entry::getValue)
              .map(Map.Entry::getKey)
              .sorted()
              .toList();
      if (!refused.isEmpty()) {
        throw misused(
            "%s cannot be given with --register: the cluster has decided it; leave it out"
                .formatted(String.join(", ", refused)));
      }
    }

    /**
     * Returns the key of the folder, or the one of the node that answers. So all nodes of a cluster
     * have one key, also after its owner has moved the file away.
     */
    private ByteString recoveryPublicKey(Session session) throws InterruptedException {
      if (noRecoveryKey || Files.exists(owner.resolve("recovery-key.pem"))) {
        return recoveryPublicKey();
      }
      GetShareResponse own =
          session.call(() -> session.recovery().getShare(GetShareRequest.getDefaultInstance()));
      if (!own.hasShare()) {
        return recoveryPublicKey();
      }
      ByteString key = own.getShare().getRecoveryPublicKey();
      remark(
          "the recovery key %s, which opens the volume of %s, will open the new node's too"
              .formatted(HexFormat.of().formatHex(key.toByteArray()), own.getNodeId()));
      return key;
    }

    private ByteString recoveryPublicKey() {
      return noRecoveryKey ? ByteString.EMPTY : ByteString.copyFrom(recoveryKey());
    }

    private <E extends Enum<E>> E choice(
        Class<E> type, String prefix, String option, String value) {
      return WireName.find(type, prefix, value)
          .orElseThrow(() -> misused("%s \"%s\" is unknown; see --help".formatted(option, value)));
    }

    private NodeLabels labels() {
      NodeLabels.Builder wire = NodeLabels.newBuilder();
      labels.forEach(this::checkLabel);
      labels.forEach(
          (key, value) -> wire.addPairs(NodeLabels.Pair.newBuilder().setKey(key).setValue(value)));
      return wire.build();
    }

    private void checkLabel(String key, String value) {
      dev.polis.api.curator.NodeLabels.problemOfKey(key)
          .or(() -> dev.polis.api.curator.NodeLabels.problemOfValue(value))
          .ifPresent(problem -> refuse("--label", key + "=" + value, problem));
    }

    /** Refuses a domain that the cluster would refuse, before there is a volume. */
    private String domain() {
      String name = given(domain, "cluster.internal");
      DomainNames.problemOfCluster(name).ifPresent(problem -> refuse("--domain", name, problem));
      return name;
    }

    private void refuse(String option, String value, String problem) {
      throw misused("%s \"%s\" %s".formatted(option, value, problem));
    }

    private byte[] ownerKey() {
      Path file = owner.resolve("owner-key.pem");
      Optional<OwnerKey.Form> form = ownerKeyForm();
      if (ownerKey != null) {
        OwnerKeyFile.copy(ownerKey, file, form);
      } else if (!Files.exists(file)) {
        OwnerKeyFile.write(
            file, Ed25519.generate().getPrivate(), form.orElse(OwnerKey.Form.METROPOLIS));
      }
      PrivateKey key = OwnerKeyFile.read(file, "remove it to have another one made");
      return Ed25519.raw(Ed25519.publicKey(key));
    }

    private Optional<OwnerKey.Form> ownerKeyForm() {
      return ownerKeyForm.isEmpty()
          ? Optional.empty()
          : Optional.of(choice(OwnerKey.Form.class, "", "--owner-key-form", ownerKeyForm));
    }

    private byte[] recoveryKey() {
      Path file = owner.resolve("recovery-key.pem");
      if (!Files.exists(file)) {
        CtlFiles.write(file, RecoveryKey.generate().getBytes(StandardCharsets.UTF_8));
      }
      return RecoveryKeyFile.publicKey(
          file, CtlFiles.read(file, "remove it to have another one made"));
    }
  }
}
