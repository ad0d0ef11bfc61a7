package dev.polis.ctl.plugin;

import com.google.protobuf.ByteString;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.pki.Ed25519;
import dev.polis.pki.PkiException;
import dev.polis.plugins.manifest.KeyId;
import dev.polis.wire.cluster.AddTrustedKeyRequest;
import dev.polis.wire.cluster.ListTrustedKeysRequest;
import dev.polis.wire.cluster.RemoveTrustedKeyRequest;
import dev.polis.wire.cluster.RemoveTrustedKeyResponse;
import dev.polis.wire.cluster.TrustedKey;
import java.nio.file.Path;
import java.util.HexFormat;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Groups the commands for the keys that may sign the plugins of a cluster. */
@Command(
    name = "trust",
    description = "Lists, adds and removes the keys that may sign the plugins of the cluster.")
@Subcommands({
  PluginTrustCommand.ListKeys.class,
  PluginTrustCommand.Add.class,
  PluginTrustCommand.Remove.class
})
final class PluginTrustCommand {

  private static final Rows<TrustedKey> ROWS =
      new Rows<TrustedKey>()
          .column("NAME", "name", TrustedKey::getName)
          .column("KEY ID", "keyId", PluginTrustCommand::keyId)
          .wide("PUBLIC KEY", "publicKey", key -> HexFormat.of().formatHex(raw(key)));

  private static byte[] raw(TrustedKey key) {
    return key.getPublicKey().toByteArray();
  }

  private static String keyId(TrustedKey key) {
    try {
      return KeyId.of(Ed25519.publicKey(raw(key))).hex();
    } catch (PkiException e) {
      throw new CtlException("the node answered with a malformed key: " + e.getMessage(), e);
    }
  }

  /** Lists the keys. */
  @Command(name = "list", description = "Lists the keys that may sign plugins.")
  static final class ListKeys extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      ListTrustedKeysRequest request = ListTrustedKeysRequest.getDefaultInstance();
      return print(
          ROWS.document(
              session.call(() -> session.pluginTrust().listTrustedKeys(request)).getKeysList()));
    }
  }

  /** Adds a key. */
  @Command(
      name = "add",
      description = "Trusts a key: plugins that it signs are accepted from now on.")
  static final class Add extends CtlCommand {
    @Parameters(index = "0", paramLabel = "NAME", description = "its name, such as release-2026")
    String name;

    @Parameters(index = "1", paramLabel = "FILE", description = "the public key")
    Path file;

    @Override
    protected ExitCode run() throws InterruptedException {
      ByteString key = ByteString.copyFrom(Ed25519.raw(PluginKeyFile.readPublic(file)));
      AddTrustedKeyRequest.Builder request = AddTrustedKeyRequest.newBuilder();
      request.getKeyBuilder().setName(name).setPublicKey(key);
      try (Session session = Session.open(options())) {
        return print(
            ROWS.document(
                session
                    .call(() -> session.pluginTrust().addTrustedKey(request.build()))
                    .getKeysList()));
      }
    }
  }

  /** Removes a key. */
  @Command(
      name = "remove",
      description = {
        "Trusts a key no more: plugins that it signed are not accepted again.",
        "Running plugins keep running. The last key, and a key of running plugins, is only removed",
        "with --force."
      })
  static final class Remove extends SessionCommand {
    @Parameters(paramLabel = "NAME", description = "its name, as the list shows it")
    String name;

    @Option(names = "--force", description = "removes it whatever follows")
    boolean force;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      RemoveTrustedKeyRequest request =
          RemoveTrustedKeyRequest.newBuilder().setName(name).setForce(force).build();
      RemoveTrustedKeyResponse answer =
          session.call(() -> session.pluginTrust().removeTrustedKey(request));
      answer.getConsequencesList().forEach(each -> remark("warning: " + each));
      return print(ROWS.document(answer.getKeysList()));
    }
  }
}
