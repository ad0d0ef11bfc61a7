package dev.polis.ctl.plugin;

import com.google.protobuf.ByteString;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.Session;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.store.Digest;
import dev.polis.wire.plugins.StageHeader;
import dev.polis.wire.plugins.StageRequest;
import dev.polis.wire.plugins.StageResponse;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Sends a plugin's file to the node, and continues where a former attempt was broken off.
 *
 * @param file the bundle
 * @param header what it is, with its manifest
 */
record PluginUpload(Path file, StageHeader header) {
  private static final String MANIFEST = ".plugin";

  /** Reads what a file is; its signed manifest lies beside it as FILE.plugin. */
  static PluginUpload of(Path file) {
    Path manifest = file.resolveSibling(file.getFileName() + MANIFEST);
    try {
      return new PluginUpload(
          file,
          StageHeader.newBuilder()
              .setDigest(Digest.of(file).hex())
              .setSize(Files.size(file))
              .setManifest(ByteString.copyFrom(Files.readAllBytes(manifest)))
              .build());
    } catch (NoSuchFileException e) {
      String remedy =
          e.getFile().endsWith(MANIFEST)
              ? "; make its manifest with \"polisctl plugin pack JAR --key FILE\""
              : "; name the bundle's file";
      throw new CtlException(e.getFile() + " is not there" + remedy, e);
    } catch (IOException e) {
      throw new CtlException(file + " cannot be read: " + e.getMessage(), e);
    }
  }

  /**
   * Refuses a bundle that its manifest was not made for, which no node would ever run.
   *
   * @throws CtlException FAILED, with what is wrong
   */
  void requireWhole() {
    try {
      PluginVerifier.requireBundle(
          file, ManifestEnvelope.decode(header.getManifest().toByteArray()).content());
    } catch (PluginRefusedException e) {
      throw new CtlException(e.getMessage(), e);
    } catch (IOException e) {
      throw new CtlException(file + " cannot be read: " + e.getMessage(), e);
    }
  }

  /** Sends what the node does not have yet. */
  void send(Session session) throws InterruptedException {
    StageResponse there = session.call(() -> send(session, header.getSize()));
    if (there.getComplete()) {
      return;
    }
    StageResponse sent = session.call(() -> send(session, there.getSize()));
    if (!sent.getComplete()) {
      throw new CtlException(
          "the node has %d of %d bytes; give the command again, it continues there"
              .formatted(sent.getSize(), header.getSize()));
    }
  }

  private StageResponse send(Session session, long offset)
      throws StatusException, InterruptedException {
    // A question for the size has no data to place.
    boolean asks = offset == header.getSize();
    StageHeader begin = header.toBuilder().setOffset(asks ? 0 : offset).build();
    BlockingClientCall<StageRequest, StageResponse> call = session.swaps().stage();
    call.write(StageRequest.newBuilder().setHeader(begin).build());
    if (!asks) {
      write(call, offset);
    }
    call.halfClose();
    return call.read();
  }

  private void write(BlockingClientCall<StageRequest, StageResponse> call, long offset)
      throws StatusException, InterruptedException {
    try (InputStream in = Files.newInputStream(file)) {
      in.skipNBytes(offset);
      CtlFiles.upload(in, part -> call.write(StageRequest.newBuilder().setData(part).build()));
    } catch (IOException e) {
      throw new UncheckedIOException(file + " cannot be read", e);
    }
  }
}
