package dev.polis.ctl.node;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.CtlOptions;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Place;
import dev.polis.ctl.session.Session;
import dev.polis.wire.api.Node;
import dev.polis.wire.system.GetSystemRequest;
import dev.polis.wire.system.GetSystemResponse;
import dev.polis.wire.system.InstallChoice;
import dev.polis.wire.system.InstallRequest;
import dev.polis.wire.system.InstallResponse;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Updates the system of a machine. */
@Command(
    name = "update",
    description = {
      "Updates the system of a machine that an image of Polis has booted.",
      "The node writes the file into the slot that does not run, and reboots into it. The new system"
          + " stays once the node is HOME; otherwise the machine boots the former one by itself."
          + " Plugins stay what the cluster wants."
    })
final class NodeUpdateCommand extends CtlCommand {
  private static final Duration ASK_AGAIN = Duration.ofSeconds(1);

  @Option(names = "--downgrade", description = "accept a version below the running one")
  boolean downgrade;

  @Option(
      names = "--tries",
      paramLabel = "N",
      defaultValue = "3",
      description = "how many boots may try the new system (default: ${DEFAULT-VALUE})")
  int tries;

  @Option(names = "--stop-pods", description = "reboot also a node that runs Pods")
  boolean stopPods;

  @Option(names = "--no-reboot", description = "let the next boot try the new system")
  boolean later;

  @Option(
      names = "--wait",
      paramLabel = "SECONDS",
      defaultValue = "1800",
      description = "how long the trial may take (default: ${DEFAULT-VALUE})")
  int wait;

  @Parameters(index = "0", paramLabel = "FILE", description = "the update, as image build makes it")
  Path file;

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "ID",
      description = "the node; optional if there is only one")
  List<String> ids = List.of();

  @Override
  protected ExitCode run() throws InterruptedException {
    CtlOptions.requireAtLeast(1, wait, "--wait");
    Place place;
    InstallResponse installed;
    try (Session session = Session.open(options())) {
      List<Node> nodes = NodeRows.fetch(session, "");
      Node node = NodeCommand.single(session, ids);
      place = NodeCommand.place(session, nodes, node);
      if (!later) {
        UpdatePreflight.require(session, node, nodes, stopPods).ifPresent(this::remark);
      }
      installed = session.stream(() -> send(session, place));
    }
    out().printf("version %s is in slot %s%n", installed.getVersion(), installed.getSlot()).flush();
    if (later) {
      remark("the next boot tries it, such as that of \"node reboot\"");
      return ExitCode.OK;
    }
    out().printf("the machine reboots; the new system stays once the node is HOME%n").flush();
    return awaitEnd(place, installed);
  }

  private InstallResponse send(Session session, Place place)
      throws StatusException, InterruptedException {
    BlockingClientCall<InstallRequest, InstallResponse> call = session.system(place).install();
    try (InputStream in = Files.newInputStream(file)) {
      InstallRequest.Builder next =
          InstallRequest.newBuilder()
              .setChoice(
                  InstallChoice.newBuilder()
                      .setBytes(Files.size(file))
                      .setAllowDowngrade(downgrade)
                      .setTries(tries)
                      .setReboot(!later));
      CtlFiles.upload(
          in,
          part -> {
            boolean more = call.write(next.setDataPart(part).build());
            next.clearChoice();
            return more;
          });
    } catch (NoSuchFileException e) {
      call.cancel("the file does not exist", e);
      throw new CtlException(
          ExitCode.NOT_FOUND, file + " does not exist; \"./polis image build\" makes one", e);
    } catch (IOException e) {
      call.cancel("the file cannot be read", e);
      throw new CtlException(file + " cannot be read: " + e.getMessage(), e);
    }
    call.halfClose();
    return call.read();
  }

  /** Asks until the trial has an end; a machine that reboots cannot answer. */
  private ExitCode awaitEnd(Place place, InstallResponse installed) throws InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(wait).toNanos();
    String last = "it still runs the former system";
    while (System.nanoTime() < deadline) {
      try (Session session = Session.open(options())) {
        GetSystemResponse now =
            session.limited(session.system(place)).getSystem(GetSystemRequest.getDefaultInstance());
        boolean runs = now.getSlot().equals(installed.getSlot());
        if (runs && !now.getTrial()) {
          return print(
              "version %s runs in slot %s, and stays".formatted(now.getVersion(), now.getSlot()),
              row(now));
        }
        if (!runs && now.getOtherFailed()) {
          throw new CtlException(
              "version %s in slot %s did not become HOME and was given up; version %s runs in slot %s; read the console of that boot"
                  .formatted(
                      installed.getVersion(),
                      installed.getSlot(),
                      now.getVersion(),
                      now.getSlot()));
        }
        last = runs ? "the new system is on trial" : last;
      } catch (StatusException e) {
        last = String.valueOf(e.getStatus().getDescription());
      }
      Thread.sleep(ASK_AGAIN);
    }
    throw new CtlException(
        ExitCode.UNREACHABLE,
        "the trial of version %s at %s did not end within %d s (%s); look at the machine's console"
            .formatted(installed.getVersion(), place.host(), wait, last));
  }

  private static JsonObject row(GetSystemResponse now) {
    JsonObject row = new JsonObject();
    row.addProperty("slot", now.getSlot());
    row.addProperty("version", now.getVersion());
    return row;
  }
}
