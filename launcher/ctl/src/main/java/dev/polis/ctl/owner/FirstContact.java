package dev.polis.ctl.owner;

import com.google.protobuf.ByteString;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlTarget;
import dev.polis.ctl.session.Session;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Crl;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.PkiException;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.cluster.GetRevocationsRequest;
import dev.polis.wire.cluster.MembershipGrpc;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import dev.polis.wire.curator.GetCACertificateResponse;
import java.io.Console;
import java.nio.file.Files;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Decides which cluster a command trusts that may be the first of this operator to ask it. */
final class FirstContact {

  @Option(
      names = "--accept-ca",
      paramLabel = "FINGERPRINT",
      description =
          "SHA-256 of the cluster's certificate in hexadecimal, instead of a question at the terminal")
  private String accepted = "";

  @Spec(Spec.Target.MIXEE)
  private CommandSpec command; // set by picocli

  /**
   * Returns the fingerprint that the operator accepts.
   *
   * @throws ParameterException if the argument is no fingerprint
   */
  Optional<Fingerprint> wanted() {
    try {
      return accepted.isEmpty() ? Optional.empty() : Optional.of(Fingerprint.parse(accepted));
    } catch (PkiException e) {
      throw new ParameterException(command.commandLine(), "--accept-ca " + e.getMessage());
    }
  }

  /** Returns the cluster's CAs: known from before, read on the node itself, or asked for. */
  CaBundle clusterCa(Session session) throws InterruptedException {
    CtlTarget target = session.target();
    if (Files.isReadable(target.clusterCa())) {
      return Session.authorities(target.clusterCa(), "remove it to be asked again");
    }
    if (Files.isReadable(target.nodeCa())) {
      return Session.authorities(target.nodeCa(), "the node keeps its cluster's certificate there");
    }
    ByteString der = asked(session).getIdentityCaCertificate();
    return CaBundle.of(confirmed(session, OwnerCertificate.answered(der), wanted()));
  }

  /**
   * Returns the certificate of a user, also after the cluster has replaced its CA: the former one,
   * which this folder knows, proves the new one.
   *
   * @param remarks takes a sentence about what could not be asked
   */
  Credentials fetch(
      Session session, CaBundle known, String name, KeyPair key, Consumer<String> remarks)
      throws InterruptedException {
    CaBundle trusted = known;
    X509Certificate certificate;
    try {
      certificate = OwnerCertificate.fetch(session, name, key, known);
    } catch (CtlException refused) {
      trusted = learned(session, known, refused);
      certificate = OwnerCertificate.fetch(session, name, key, trusted);
    }
    return Credentials.of(present(session, trusted, remarks), certificate);
  }

  /** Holds the certificate of a user, and the CAs of its cluster. */
  record Credentials(CaBundle ca, X509Certificate certificate) {

    /** Puts the CA first that issues now, which is the one that issued the certificate. */
    private static Credentials of(CaBundle trusted, X509Certificate certificate) {
      X509Certificate issuer = trusted.issuerOf(certificate);
      return new Credentials(
          new CaBundle(
              Stream.concat(
                      Stream.of(issuer),
                      trusted.certificates().stream().filter(ca -> !ca.equals(issuer)))
                  .toList()),
          certificate);
    }
  }

  /**
   * Returns the cluster's CAs as they are now: with those that follow from the known ones, without
   * those that the cluster has retired, and with the one first that issues, which a proof of the
   * owner's or the recovery key names.
   *
   * @param remarks takes a sentence about what could not be asked
   */
  static CaBundle present(Session session, CaBundle known, Consumer<String> remarks)
      throws InterruptedException {
    CaBundle learned = known;
    try {
      learned = known.learn(succession(asked(session)));
      return learned.follow(revocations(session, learned));
    } catch (CtlException | PkiException failed) {
      remarks.accept(
          "the present CAs of the cluster could not be learned, so the known ones are used: "
              + failed.getMessage());
      return learned;
    }
  }

  private static Crl revocations(Session session, CaBundle ca) throws InterruptedException {
    var stub =
        session.limited(
            MembershipGrpc.newBlockingV2Stub(
                session.dial(
                    RpcClients.anonymous(RpcTrust.cluster(ca)),
                    session.address(Session.CURATOR_PORT))));
    return Crl.parse(
        session
            .call(() -> stub.getRevocations(GetRevocationsRequest.getDefaultInstance()))
            .getRevocations()
            .toByteArray());
  }

  private static List<X509Certificate> succession(GetCACertificateResponse answer) {
    return answer.getCaSuccessionList().stream().map(OwnerCertificate::answered).toList();
  }

  private static CaBundle learned(Session session, CaBundle known, CtlException refused)
      throws InterruptedException {
    CaBundle learned;
    try {
      learned = known.learn(succession(asked(session)));
    } catch (CtlException | PkiException other) {
      refused.addSuppressed(other);
      throw refused;
    }
    if (learned.equals(known)) {
      throw refused;
    }
    return learned;
  }

  private static GetCACertificateResponse asked(Session session) throws InterruptedException {
    var stub =
        session.limited(
            CuratorLocalGrpc.newBlockingV2Stub(
                session.dial(
                    RpcClients.anonymous(RpcTrust.anybody()),
                    session.address(Session.CURATOR_PORT))));
    return session.call(() -> stub.getCACertificate(GetCACertificateRequest.getDefaultInstance()));
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
          question
              + (wanted.isEmpty()
                  ? "There is no terminal to ask at; compare it on the node and give --accept-ca %s"
                      .formatted(fingerprint)
                  : "You accept %s only".formatted(wanted.get())));
    }
    String answer =
        console.readLine("%sAre you sure you want to continue connecting (yes/no)? ", question);
    if (!"yes".equals(answer)) {
      throw new CtlException("not connected, as you wish; nothing was written");
    }
    return ca;
  }
}
