package dev.polis.ctl;

import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.api.AAAGrpc;
import dev.polis.wire.api.EscrowRequest;
import dev.polis.wire.api.EscrowResponse;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.Console;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Turns the owner's key into a certificate of the cluster. */
@Command(
    name = "takeownership",
    description = "Gets the owner's certificate from a new cluster. May be repeated.",
    mixinStandardHelpOptions = true)
final class TakeOwnershipCommand implements Callable<Integer> {

  @ParentCommand Ctl ctl;
  @Spec CommandSpec spec;

  @Option(
      names = "--accept-ca",
      paramLabel = "FINGERPRINT",
      description =
          "SHA-256 of the cluster's certificate in hexadecimal, instead of being asked for it")
  String accepted = "";

  @Option(
      names = "--owner-key",
      paramLabel = "FILE",
      description = {
        "the owner's key, if it is not in the context's folder yet: PEM, PKCS #8 or",
        "METROPOLIS INITIAL OWNER PRIVATE KEY; it is copied there"
      })
  Path ownerKey;

  @Override
  public Integer call() throws InterruptedException {
    Optional<Fingerprint> wanted = accepted();
    try (Session session = Session.open(ctl.options)) {
      if (ownerKey != null) {
        OwnerKeyFile.copy(ownerKey, session.target().ownerKey());
      }
      KeyPair owner = ownerKey(session.target());
      X509Certificate ca = clusterCa(session, wanted);
      X509Certificate certificate = escrow(session, owner, ca);
      write(session.target(), ca, certificate);
      JsonObject result = new JsonObject();
      result.addProperty("cluster", session.target().name());
      result.addProperty("certificate", session.target().ownerCertificate().toString());
      result.addProperty("validUntil", certificate.getNotAfter().toInstant().toString());
      if (ctl.options.output == Output.table || ctl.options.output == Output.wide) {
        spec.commandLine()
            .getOut()
            .println(
                "Successfully retrieved owner credentials! You now own this cluster until %s."
                        .formatted(certificate.getNotAfter().toInstant())
                    + "\nThey are in %s. Next: %s"
                        .formatted(session.target().folder(), ctl.options.command("node list")));
      } else {
        ctl.options.output.print(Document.single(result), spec.commandLine().getOut());
      }
      return ExitCode.OK.code();
    }
  }

  private static KeyPair ownerKey(CtlTarget target) {
    PrivateKey key =
        OwnerKeyFile.read(
            target.ownerKey(),
            "it is the key whose public half the first node was given; name it with --owner-key"
                + " FILE, or make one with '"
                + CtlName.called()
                + " params make'");
    return new KeyPair(Ed25519.publicKey(key), key);
  }

  /** Decides whom to trust: known from before, read on the node itself, or shown and asked for. */
  private X509Certificate clusterCa(Session session, Optional<Fingerprint> wanted)
      throws InterruptedException {
    CtlTarget target = session.target();
    if (Files.isReadable(target.clusterCa())) {
      return Session.certificate(target.clusterCa(), "remove it to be asked again");
    }
    if (Files.isReadable(target.nodeCa())) {
      return Session.certificate(target.nodeCa(), "the node keeps its cluster's certificate there");
    }
    var stub =
        CuratorLocalGrpc.newBlockingV2Stub(
                session.dial(
                    RpcClients.anonymous(RpcTrust.anybody()),
                    session.address(Session.CURATOR_PORT)))
            .withDeadlineAfter(ctl.options.timeout, TimeUnit.SECONDS);
    ByteString der =
        session.call(
            () ->
                stub.getCACertificate(GetCACertificateRequest.getDefaultInstance())
                    .getIdentityCaCertificate());
    return confirmed(session, answered(der), wanted);
  }

  static X509Certificate answered(ByteString der) {
    try {
      return Pem.certificate(der.toByteArray());
    } catch (PkiException e) {
      throw new CtlException(
          ExitCode.FAILED,
          "the cluster answered with %d bytes that are no certificate: %s"
              .formatted(der.size(), e.getMessage()),
          e);
    }
  }

  private static X509Certificate confirmed(
      Session session, X509Certificate ca, Optional<Fingerprint> wanted) {
    Fingerprint fingerprint = Fingerprint.of(ca);
    if (wanted.filter(fingerprint::equals).isPresent()) {
      return ca;
    }
    String question =
        "The authenticity of the cluster at %s can't be established.%n".formatted(session.host())
            + "The SHA-256 fingerprint of its certificate is %s.%n".formatted(fingerprint);
    Console console = System.console();
    if (wanted.isPresent() || console == null || !console.isTerminal()) {
      throw new CtlException(
          ExitCode.FAILED,
          question
              + (wanted.isEmpty()
                  ? "There is no terminal to ask at; compare it on the node and give --accept-ca %s"
                      .formatted(fingerprint)
                  : "You accept %s only".formatted(wanted.get())));
    }
    String answer =
        console.readLine("%sAre you sure you want to continue connecting (yes/no)? ", question);
    if (!"yes".equals(answer)) {
      throw new CtlException(ExitCode.FAILED, "not connected, as you wish; nothing was written");
    }
    return ca;
  }

  private Optional<Fingerprint> accepted() {
    try {
      return accepted.isEmpty() ? Optional.empty() : Optional.of(Fingerprint.parse(accepted));
    } catch (PkiException e) {
      throw new ParameterException(spec.commandLine(), "--accept-ca " + e.getMessage(), e);
    }
  }

  private X509Certificate escrow(Session session, KeyPair owner, X509Certificate ca)
      throws InterruptedException {
    var stub =
        AAAGrpc.newBlockingV2Stub(
                session.dial(
                    RpcClients.ephemeral(owner, RpcTrust.cluster(ca)),
                    session.address(Session.CURATOR_PORT)))
            .withDeadlineAfter(ctl.options.timeout, TimeUnit.SECONDS);
    EscrowResponse answer = session.call(() -> ask(stub.escrow(), owner));
    return answered(answer.getEmittedCertificate());
  }

  private static EscrowResponse ask(
      BlockingClientCall<EscrowRequest, EscrowResponse> call, KeyPair owner)
      throws StatusException, InterruptedException {
    call.write(
        EscrowRequest.newBuilder()
            .setParameters(
                EscrowRequest.Parameters.newBuilder()
                    .setRequestedIdentityName("owner")
                    .setPublicKey(ByteString.copyFrom(Ed25519.raw(owner.getPublic()))))
            .build());
    EscrowResponse answer = call.read();
    while (answer != null && answer.getEmittedCertificate().isEmpty()) {
      answer = call.read();
    }
    call.halfClose();
    if (answer == null) {
      throw new CtlException(ExitCode.FAILED, "the cluster ended the call without a certificate");
    }
    return answer;
  }

  private static void write(CtlTarget target, X509Certificate ca, X509Certificate certificate) {
    CtlFiles.write(target.clusterCa(), Pem.encode(ca).getBytes(StandardCharsets.UTF_8));
    CtlFiles.write(
        target.ownerCertificate(), Pem.encode(certificate).getBytes(StandardCharsets.UTF_8));
  }
}
