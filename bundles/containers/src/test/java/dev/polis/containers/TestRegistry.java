package dev.polis.containers;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** Serves one image under every name, as a registry of images does, and records the requests. */
final class TestRegistry implements AutoCloseable {

  private static final String MANIFEST = "application/vnd.oci.image.manifest.v1+json";
  private static final int NO_BODY = -1;
  private static final int SECONDS = 30;

  private final HttpServer server;
  private final Path blobs;
  private final String digest;
  final List<String> asked = new CopyOnWriteArrayList<>();

  /**
   * Opens it on all addresses.
   *
   * @param folder an empty folder
   */
  TestRegistry(Path folder, byte[] busybox) throws IOException, InterruptedException {
    Path archive = folder.resolve("image.tar");
    try (OutputStream out = Files.newOutputStream(archive)) {
      PauseImage.write(busybox, "amd64", out);
    }
    Process tar =
        new ProcessBuilder("tar", "-xf", archive.toString(), "-C", folder.toString()).start();
    if (!tar.waitFor(SECONDS, TimeUnit.SECONDS) || tar.exitValue() != 0) {
      throw new IOException("tar cannot read " + archive);
    }
    blobs = folder.resolve("blobs/sha256");
    JsonObject index =
        JsonParser.parseString(Files.readString(folder.resolve("index.json"))).getAsJsonObject();
    digest = index.getAsJsonArray("manifests").get(0).getAsJsonObject().get("digest").getAsString();
    server = HttpServer.create(new InetSocketAddress(0), 0);
    server.createContext("/v2/", this::answer);
    server.start();
  }

  /** Returns its URL at one of this machine's addresses. */
  URI at(String address) {
    return URI.create("http://%s:%d".formatted(address, server.getAddress().getPort()));
  }

  int port() {
    return server.getAddress().getPort();
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String path = exchange.getRequestURI().getPath();
      asked.add(exchange.getRequestURI().toString());
      boolean manifest = path.contains("/manifests/");
      String name = manifest ? digest : path.substring(path.lastIndexOf('/') + 1);
      Path blob = blobs.resolve(name.substring(name.indexOf(':') + 1));
      if (!Files.isRegularFile(blob)) {
        exchange.sendResponseHeaders(path.equals("/v2/") ? 200 : 404, NO_BODY);
        return;
      }
      byte[] content = Files.readAllBytes(blob);
      exchange.getResponseHeaders().set("Docker-Content-Digest", name);
      exchange
          .getResponseHeaders()
          .set("Content-Type", manifest ? MANIFEST : "application/octet-stream");
      if (exchange.getRequestMethod().equals("HEAD")) {
        exchange.getResponseHeaders().set("Content-Length", "" + content.length);
        exchange.sendResponseHeaders(200, NO_BODY);
        return;
      }
      exchange.sendResponseHeaders(200, content.length);
      exchange.getResponseBody().write(content);
    }
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
