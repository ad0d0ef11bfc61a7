package dev.polis.plugins;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import dev.polis.plugins.local.LocalPlugins;
import dev.polis.plugins.manifest.ManifestEnvelope;
import dev.polis.plugins.store.Digest;
import dev.polis.rpc.CallStreams;
import dev.polis.rpc.RpcException;
import dev.polis.wire.plugins.FetchRequest;
import dev.polis.wire.plugins.FetchResponse;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Sends a file of the node to another node, piece by piece, as fast as that node reads. */
final class FetchCall {
  /** The bytes of a piece: well below the 4 MiB of a message, and few messages for an organ. */
  private static final int CHUNK_BYTES = 256 * 1024;

  private FetchCall() {}

  /**
   * Sends a file from an offset to its end.
   *
   * @throws RpcException if the request is malformed, or the file is missing or unreadable
   */
  static void answer(
      LocalPlugins local, FetchRequest request, CallStreams.Sink<FetchResponse> caller)
      throws InterruptedException {
    Digest digest = digest(request.getDigest());
    Path file =
        local
            .file(digest)
            .orElseThrow(
                () ->
                    RpcException.notFound(
                        "this node has no whole file with the digest "
                            + digest
                            + "; fetch it from another node"));
    // The open file stays readable to its end, even if the store deletes it meanwhile.
    try (InputStream in = Files.newInputStream(file)) {
      FetchResponse first =
          FetchResponse.newBuilder()
              .setSize(Files.size(file))
              .setManifest(manifest(local, digest, file))
              .build();
      send(in, first, request.getOffset(), caller);
    } catch (IOException e) {
      throw RpcException.failedPrecondition(
          "the file with the digest %s cannot be read on this node: %s; fetch it from another node"
              .formatted(digest, e));
    }
  }

  /** Reads the manifest beside a file of the store or of the staged files. */
  private static ByteString manifest(LocalPlugins local, Digest digest, Path file)
      throws IOException {
    Path beside = ManifestEnvelope.beside(file);
    return ByteString.copyFrom(
        Files.readAllBytes(Files.exists(beside) ? beside : local.staged().manifest(digest)));
  }

  private static void send(
      InputStream in, FetchResponse first, long offset, CallStreams.Sink<FetchResponse> caller)
      throws IOException, InterruptedException {
    long size = first.getSize();
    if (offset < 0 || offset > size) {
      throw RpcException.invalid(
          "offset is %d, and the file has %d bytes; it counts from 0".formatted(offset, size));
    }
    in.skipNBytes(offset);
    caller.send(first);
    for (byte[] chunk = in.readNBytes(CHUNK_BYTES);
        chunk.length > 0;
        chunk = in.readNBytes(CHUNK_BYTES)) {
      caller.send(
          FetchResponse.newBuilder().setData(UnsafeByteOperations.unsafeWrap(chunk)).build());
    }
  }

  private static Digest digest(String hex) {
    try {
      return new Digest(hex);
    } catch (IllegalArgumentException e) {
      throw RpcException.invalid("digest: " + e.getMessage());
    }
  }
}
