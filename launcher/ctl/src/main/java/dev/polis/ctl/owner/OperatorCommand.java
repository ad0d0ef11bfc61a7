package dev.polis.ctl.owner;

import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.OwnerKeyFile;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.WireName;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Ed25519;
import dev.polis.pki.PkiException;
import dev.polis.wire.cluster.AddOperatorRequest;
import dev.polis.wire.cluster.ListOperatorsRequest;
import dev.polis.wire.cluster.Operator;
import dev.polis.wire.cluster.OperatorRole;
import dev.polis.wire.cluster.RemoveOperatorRequest;
import dev.polis.wire.cluster.RemoveOperatorResponse;
import dev.polis.wire.cluster.SetOperatorRoleRequest;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Groups the commands for the people and programs that have access besides the owner. */
@Command(
    name = "operator",
    description = {
      "Gives other people and programs access to the cluster, with a key of their own.",
      "A viewer reads; an operator also changes nodes, plugins and the configuration.",
      "The owner alone gives and takes access."
    })
@Subcommands({
  OperatorCommand.Key.class,
  OperatorCommand.Add.class,
  OperatorCommand.ListOperators.class,
  OperatorCommand.Role.class,
  OperatorCommand.Remove.class,
  OperatorCommand.Take.class
})
public final class OperatorCommand {

  private static final Rows<Operator> ROWS =
      new Rows<Operator>()
          .column("NAME", "name", Operator::getName)
          .column("ROLE", "role", each -> WireName.words(each.getRole()))
          .column("KEY", "key", each -> fingerprint(each.getPublicKey()))
          .column(
              "SINCE",
              "since",
              each -> Instant.ofEpochSecond(each.getSince().getSeconds()).toString())
          .wide("BY", "by", Operator::getBy)
          .wide("PUBLIC KEY", "publicKey", each -> hex(each.getPublicKey().toByteArray()));

  private static String hex(byte[] raw) {
    return HexFormat.of().formatHex(raw);
  }

  private static String fingerprint(ByteString raw) {
    try {
      return Ed25519.fingerprint(Ed25519.publicKey(raw.toByteArray()));
    } catch (PkiException e) {
      throw new CtlException("the node answered with a malformed key: " + e.getMessage(), e);
    }
  }

  /** Makes a key. */
  @Command(
      name = "key",
      description = {
        "Makes a private key in FILE, for its user alone, and shows the public one, which the owner",
        "adds to the cluster. It asks no node."
      })
  static final class Key extends CtlCommand {
    @Parameters(paramLabel = "FILE", description = "where to put the private key: a new file")
    Path file;

    @Override
    protected ExitCode run() {
      PublicKey made = OwnerKeyFile.make(file);
      String text = hex(Ed25519.raw(made));
      JsonObject result = new JsonObject();
      result.addProperty("privateKey", file.toString());
      result.addProperty("publicKey", text);
      result.addProperty("fingerprint", Ed25519.fingerprint(made));
      return print(
          "Key %s: keep %s secret. The owner adds it with:\n%s operator add NAME --key %s --role viewer"
              .formatted(Ed25519.fingerprint(made), file, CtlName.called(), text),
          result);
    }
  }

  /** Reads a role of the command line. */
  static final class RoleName {
    private RoleName() {}

    static OperatorRole parse(String text, picocli.CommandLine command) {
      return WireName.find(OperatorRole.class, "OPERATOR_ROLE_", text)
          .filter(role -> role != OperatorRole.OPERATOR_ROLE_UNSPECIFIED)
          .orElseThrow(
              () ->
                  new ParameterException(
                      command,
                      text.equals("owner")
                          ? "the role \"owner\" goes with the owner's key alone; '%s owner rotate' gives it to another key"
                              .formatted(CtlName.called())
                          : "the role \"%s\" is unknown; it is viewer or operator"
                              .formatted(text)));
    }
  }

  /** Adds an operator. */
  @Command(
      name = "add",
      description = {
        "Gives a person or a program access with a key of its own. May be repeated.",
        "The new operator then gets a certificate with 'operator take'."
      })
  static final class Add extends SessionCommand {
    @Parameters(
        paramLabel = "NAME",
        description = "its name: up to 32 lower-case letters, digits and hyphens")
    String name;

    @Option(
        names = "--key",
        paramLabel = "FILE|PUBLIC",
        required = true,
        description =
            "the public key: 64 hexadecimal digits as 'operator key' shows them, or a file in PEM")
    String key;

    @Option(
        names = "--role",
        paramLabel = "ROLE",
        required = true,
        description = "viewer or operator")
    String role;

    @Spec picocli.CommandLine.Model.CommandSpec spec;

    private AddOperatorRequest request; // set by check()

    @Override
    protected void check() {
      request =
          AddOperatorRequest.newBuilder()
              .setName(name)
              .setRole(RoleName.parse(role, spec.commandLine()))
              .setPublicKey(ByteString.copyFrom(Ed25519.raw(OwnerKeyFile.publicKey(key))))
              .build();
    }

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      Operator added = session.call(() -> session.operators().addOperator(request)).getOperator();
      return print(ROWS.document(List.of(added)));
    }
  }

  /** Lists the operators. */
  @Command(name = "list", description = "Lists the operators with their roles and keys.")
  static final class ListOperators extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      ListOperatorsRequest request = ListOperatorsRequest.getDefaultInstance();
      return print(
          ROWS.document(
              session.call(() -> session.operators().listOperators(request)).getOperatorsList()));
    }
  }

  /** Changes a role. */
  @Command(
      name = "role",
      description = {
        "Gives an operator another role. Each node decides by it within a second, also about open",
        "connections."
      })
  static final class Role extends SessionCommand {
    @Parameters(index = "0", paramLabel = "NAME", description = "its name, as the list shows it")
    String name;

    @Parameters(index = "1", paramLabel = "ROLE", description = "viewer or operator")
    String role;

    @Spec picocli.CommandLine.Model.CommandSpec spec;

    private SetOperatorRoleRequest request; // set by check()

    @Override
    protected void check() {
      request =
          SetOperatorRoleRequest.newBuilder()
              .setName(name)
              .setRole(RoleName.parse(role, spec.commandLine()))
              .build();
    }

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      Operator changed =
          session.call(() -> session.operators().setOperatorRole(request)).getOperator();
      return print(ROWS.document(List.of(changed)));
    }
  }

  /** Removes an operator. */
  @Command(
      name = "remove",
      description = {
        "Takes all access from an operator and revokes its certificates: each node refuses it within",
        "a second, also on open connections. Repeat it after an interruption."
      })
  static final class Remove extends SessionCommand {
    @Parameters(paramLabel = "NAME", description = "its name, as the list shows it")
    String name;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      RemoveOperatorRequest request = RemoveOperatorRequest.newBuilder().setName(name).build();
      RemoveOperatorResponse answer =
          session.call(() -> session.operators().removeOperator(request));
      JsonObject result = new JsonObject();
      result.addProperty("name", name);
      result.addProperty("revoked", answer.getRevoked());
      return print(
          "%s has no access any more; certificates revoked: %d."
              .formatted(name, answer.getRevoked()),
          result);
    }
  }

  /** Gets an operator's certificate. */
  @Command(
      name = "take",
      description = {
        "Gets the certificate of an operator that the owner has added, for the key in FILE, so that",
        "the other commands act as this operator. May be repeated; do so before the certificate",
        "ends."
      })
  static final class Take extends SessionCommand {
    @Parameters(paramLabel = "NAME", description = "the name under which the owner has added it")
    String name;

    @Mixin FirstContact contact = new FirstContact();

    @Option(
        names = "--key",
        paramLabel = "FILE",
        description =
            "the private key, if it is not in the context's folder yet; it is copied there")
    Path key;

    @Override
    protected void check() {
      contact.wanted();
    }

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      if (key != null) {
        OwnerKeyFile.copy(key, session.target().ownerKey());
      }
      PrivateKey own =
          OwnerKeyFile.read(
              session.target().ownerKey(),
              "name the operator's key with --key FILE, or make one with '"
                  + CtlName.called()
                  + " operator key FILE'");
      CaBundle ca = contact.clusterCa(session);
      FirstContact.Credentials got =
          contact.fetch(session, ca, name, new KeyPair(Ed25519.publicKey(own), own), this::remark);
      X509Certificate certificate = got.certificate();
      OwnerCertificate.write(session.target(), got.ca(), certificate);
      String end = certificate.getNotAfter().toInstant().toString();
      JsonObject result = new JsonObject();
      result.addProperty("cluster", session.target().name());
      result.addProperty("operator", name);
      result.addProperty("certificate", session.target().ownerCertificate().toString());
      result.addProperty("validUntil", end);
      return print(
          "You are the operator %s of this cluster until %s.\nThe key and the certificate are in %s. Next: %s"
              .formatted(name, end, session.target().folder(), options().command("node list")),
          result);
    }
  }
}
