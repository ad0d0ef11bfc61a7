package dev.polis.ctl.node;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.wire.cluster.SnapshotRequest;
import dev.polis.wire.cluster.SnapshotResponse;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.nio.file.Path;
import java.time.Duration;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Saves the records of the cluster to a file. */
@Command(
    name = "snapshot",
    description = {
      "Saves all records of etcd, as the asked node has them, to a new file with mode 0600.",
      "The file holds all secrets of the cluster, such as the keys of its CAs: a person who reads it"
          + " controls the cluster. \"polis up --force-new-cluster ID --restore FILE\" brings the"
          + " records back."
    })
final class EtcdSnapshotCommand extends SessionCommand {

  private static final Duration PROGRESS = Duration.ofSeconds(2);
  private static final int MEBIBYTE = 1 << 20;

  @Parameters(paramLabel = "FILE", description = "where to put it: a file that does not exist yet")
  Path file;

  private long nextProgress = System.nanoTime() + PROGRESS.toNanos();

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    try (EtcdSnapshotFile snapshot = new EtcdSnapshotFile(file)) {
      session.stream(
          () ->
              receive(
                  session.etcdOrders().snapshot(SnapshotRequest.getDefaultInstance()), snapshot));
      String hash = snapshot.finish();
      JsonObject result = new JsonObject();
      result.addProperty("file", file.toAbsolutePath().normalize().toString());
      result.addProperty("bytes", snapshot.size());
      result.addProperty("sha256", hash);
      return print(
          "Saved the records of etcd in %s (%d bytes, SHA-256 %s). They hold all secrets of the cluster: keep the file where only you can read it."
              .formatted(file, snapshot.size(), hash),
          result);
    }
  }

  private EtcdSnapshotFile receive(
      BlockingClientCall<?, SnapshotResponse> call, EtcdSnapshotFile snapshot)
      throws StatusException, InterruptedException {
    try {
      for (SnapshotResponse part = call.read(); part != null; part = call.read()) {
        snapshot.write(part.getDataPart());
        progress(snapshot.size(), part.getRemainingBytes());
      }
      return snapshot;
    } catch (CtlException unwritable) {
      call.cancel("the snapshot cannot be written", unwritable);
      throw unwritable;
    }
  }

  private void progress(long bytes, long remaining) {
    if (options().output.isForPeople() && System.nanoTime() - nextProgress > 0) {
      nextProgress = System.nanoTime() + PROGRESS.toNanos();
      out().printf("%d of %d MiB%n", bytes / MEBIBYTE, (bytes + remaining) / MEBIBYTE).flush();
    }
  }
}
