package dev.polis.ctl.owner;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Groups the commands for the key of the cluster's owner. */
@Command(name = "owner", description = "Replaces the owner's key.")
@Subcommands(OwnerCommand.Rotate.class)
public final class OwnerCommand {

  /** Replaces the owner's key. */
  @Command(
      name = "rotate",
      description = {
        "Makes another owner's key on this machine, and replaces the present one in the cluster:",
        "each node refuses the former key and all its certificates at once, also on open",
        "connections. After an interruption, repeat it: it continues with the same new key."
      })
  static final class Rotate extends SessionCommand {

    @Option(
        names = "--erase-former",
        description = "overwrites and removes the former key, which is set aside otherwise")
    boolean erase;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      OwnerKeyRotation rotation = new OwnerKeyRotation(session, this::remark);
      X509Certificate certificate = rotation.run(options().command("takeownership"));
      Optional<Path> former = rotation.finish(certificate, erase);
      String end = certificate.getNotAfter().toInstant().toString();
      JsonObject result = new JsonObject();
      result.addProperty("cluster", session.target().name());
      result.addProperty("ownerKey", session.target().ownerKey().toString());
      result.addProperty("formerOwnerKey", former.map(Path::toString).orElse(""));
      result.addProperty("certificate", session.target().ownerCertificate().toString());
      result.addProperty("validUntil", end);
      return print(
          "The cluster has another owner's key, in %s, with a certificate until %s. Keep a copy of it.\n%s"
              .formatted(
                  session.target().ownerKey(),
                  end,
                  former
                      .map("The former key opens nothing any more; it is in %s."::formatted)
                      .orElse("The former key opens nothing any more; it is erased.")),
          result);
    }
  }
}
