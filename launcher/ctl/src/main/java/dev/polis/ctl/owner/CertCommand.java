package dev.polis.ctl.owner;

import com.google.protobuf.Timestamp;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.WireName;
import dev.polis.wire.cluster.IssuedCertificate;
import dev.polis.wire.cluster.ListCertificatesRequest;
import dev.polis.wire.cluster.RevokeCertificatesRequest;
import dev.polis.wire.cluster.RevokeCertificatesResponse;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Groups the commands for the certificates of nodes and users. */
@Command(
    name = "cert",
    description = "Lists and revokes the certificates of the cluster's nodes and users.")
@Subcommands({CertCommand.ListCerts.class, CertCommand.Revoke.class})
public final class CertCommand {

  private static final Rows<IssuedCertificate> ROWS =
      new Rows<IssuedCertificate>()
          .column("SERIAL", "serial", IssuedCertificate::getSerial)
          .column("KIND", "kind", each -> WireName.words(each.getKind()))
          .column("HOLDER", "holder", IssuedCertificate::getHolder)
          .column("STATE", "state", each -> WireName.shortened(each.getState()))
          .wide(
              "NOT BEFORE",
              "notBefore",
              each ->
                  Optional.of(each.getNotBefore())
                      .filter(_ -> each.hasNotBefore())
                      .map(CertCommand::text))
          .column("NOT AFTER", "notAfter", each -> text(each.getNotAfter()));

  private static String text(Timestamp time) {
    return Instant.ofEpochSecond(time.getSeconds()).toString();
  }

  /** Lists the certificates. */
  @Command(
      name = "list",
      description = {
        "Lists the certificates of nodes and users: the newest one of each, and its predecessors",
        "until they expire."
      })
  static final class ListCerts extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      ListCertificatesRequest request = ListCertificatesRequest.getDefaultInstance();
      return print(
          ROWS.document(
              session
                  .call(() -> session.certificates().listCertificates(request))
                  .getCertificatesList()));
    }
  }

  /** Names what is revoked. */
  static final class Target {
    @Option(
        names = "--serial",
        paramLabel = "SERIAL",
        description =
            "one certificate, by its serial number in hexadecimal; the newest one of a holder takes all others with it")
    String serial;

    @Option(
        names = "--node",
        paramLabel = "NODE",
        description = "all certificates of a node, which leaves the cluster for good")
    String node;

    @Option(
        names = "--user",
        paramLabel = "USER",
        description = "all certificates of a user, who gets none again")
    String user;
  }

  /** Revokes certificates. */
  @Command(
      name = "revoke",
      description = {
        "Revokes certificates: each node refuses them at once, also on open connections.",
        "The newest certificate of a node or user is only revoked with --force."
      })
  static final class Revoke extends SessionCommand {
    private static final Pattern SERIAL = Pattern.compile("[0-9a-f]{1,32}");

    @ArgGroup(multiplicity = "1")
    Target target;

    @Option(names = "--force", description = "revokes it whatever follows")
    boolean force;

    @Override
    protected void check() {
      if (target.serial != null && !SERIAL.matcher(serial()).matches()) {
        throw new CtlException(
            ExitCode.USAGE,
            "\"%s\" is no serial number; give the hexadecimal digits that 'cert list' shows"
                .formatted(target.serial));
      }
    }

    /** Returns the serial number as nodes write it; OpenSSL writes colons and capitals. */
    private String serial() {
      return target
          .serial
          .strip()
          .replace(":", "")
          .toLowerCase(Locale.ROOT)
          .replaceFirst("^0+", "");
    }

    private RevokeCertificatesRequest request() {
      RevokeCertificatesRequest.Builder request =
          RevokeCertificatesRequest.newBuilder().setForce(force);
      if (target.serial != null) {
        return request.setSerial(serial()).build();
      }
      return target.node == null
          ? request.setUser(target.user).build()
          : request.setNode(target.node).build();
    }

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      RevokeCertificatesResponse answer =
          session.call(() -> session.certificates().revokeCertificates(request()));
      session.revoked();
      answer.getConsequencesList().forEach(each -> remark("warning: " + each));
      return print(ROWS.document(answer.getRevokedList()));
    }
  }
}
