package dev.polis.ctl.plugin;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.Document;
import dev.polis.ctl.session.Document.Column;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
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
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Groups the commands for the keys that may sign the plugins of a cluster. */
@Command(
    name = "trust",
    description = "Lists, adds and removes the keys that may sign the plugins of the cluster.",
    mixinStandardHelpOptions = true)
@Subcommands({
  PluginTrustCommand.ListKeys.class,
  PluginTrustCommand.Add.class,
  PluginTrustCommand.Remove.class
})
final class PluginTrustCommand {

  @ParentCommand PluginCommand plugin;

  private int print(List<TrustedKey> keys, CommandSpec spec) {
    JsonArray rows = new JsonArray();
    for (TrustedKey key : keys) {
      byte[] raw = key.getPublicKey().toByteArray();
      JsonObject row = new JsonObject();
      row.addProperty("name", key.getName());
      row.addProperty("keyId", keyId(raw));
      row.addProperty("publicKey", HexFormat.of().formatHex(raw));
      rows.add(row);
    }
    plugin.ctl.options.output.print(
        Document.rows(
            rows,
            Column.of("NAME", "name"),
            Column.of("KEY ID", "keyId"),
            Column.wide("PUBLIC KEY", "publicKey")),
        spec.commandLine().getOut());
    return ExitCode.OK.code();
  }

  private static String keyId(byte[] raw) {
    try {
      return KeyId.of(Ed25519.publicKey(raw)).hex();
    } catch (PkiException e) {
      throw new CtlException(
          ExitCode.FAILED, "the node answered with a malformed key: " + e.getMessage(), e);
    }
  }

  /** Lists the keys. */
  @Command(
      name = "list",
      description = "Lists the keys that may sign plugins.",
      mixinStandardHelpOptions = true)
  static final class ListKeys implements Callable<Integer> {
    @ParentCommand PluginTrustCommand trust;
    @Spec CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
      try (Session session = Session.open(trust.plugin.ctl.options)) {
        return trust.print(
            session.call(
                () ->
                    session
                        .pluginTrust()
                        .listTrustedKeys(ListTrustedKeysRequest.getDefaultInstance())
                        .getKeysList()),
            spec);
      }
    }
  }

  /** Adds a key. */
  @Command(
      name = "add",
      description = "Trusts a key: plugins that it signs are accepted from now on.",
      mixinStandardHelpOptions = true)
  static final class Add implements Callable<Integer> {
    @ParentCommand PluginTrustCommand trust;
    @Spec CommandSpec spec;

    @Parameters(index = "0", paramLabel = "NAME", description = "its name, such as release-2026")
    String name;

    @Parameters(index = "1", paramLabel = "FILE", description = "the public key")
    Path file;

    @Override
    public Integer call() throws InterruptedException {
      AddTrustedKeyRequest request =
          AddTrustedKeyRequest.newBuilder()
              .setKey(
                  TrustedKey.newBuilder()
                      .setName(name)
                      .setPublicKey(
                          ByteString.copyFrom(Ed25519.raw(PluginKeyFile.readPublic(file)))))
              .build();
      try (Session session = Session.open(trust.plugin.ctl.options)) {
        return trust.print(
            session.call(() -> session.pluginTrust().addTrustedKey(request).getKeysList()), spec);
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
      },
      mixinStandardHelpOptions = true)
  static final class Remove implements Callable<Integer> {
    @ParentCommand PluginTrustCommand trust;
    @Spec CommandSpec spec;

    @Parameters(paramLabel = "NAME", description = "its name, as the list shows it")
    String name;

    @Option(names = "--force", description = "removes it whatever follows")
    boolean force;

    @Override
    public Integer call() throws InterruptedException {
      RemoveTrustedKeyRequest request =
          RemoveTrustedKeyRequest.newBuilder().setName(name).setForce(force).build();
      try (Session session = Session.open(trust.plugin.ctl.options)) {
        RemoveTrustedKeyResponse answer =
            session.call(() -> session.pluginTrust().removeTrustedKey(request));
        answer
            .getConsequencesList()
            .forEach(each -> spec.commandLine().getErr().println("polisctl: warning: " + each));
        return trust.print(answer.getKeysList(), spec);
      }
    }
  }
}
