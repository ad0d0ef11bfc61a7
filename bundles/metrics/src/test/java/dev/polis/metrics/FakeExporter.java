package dev.polis.metrics;

import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/** Stands for Prometheus' node exporter: takes its flag and serves one metric. */
final class FakeExporter {
  private FakeExporter() {}

  /** Serves until it is killed. */
  public static void main(String[] arguments) throws IOException {
    String flag = "--web.listen-address=";
    if (arguments.length != 1 || !arguments[0].startsWith(flag)) {
      throw new IllegalArgumentException("unknown flags: " + String.join(" ", arguments));
    }
    URI address = URI.create("http://" + arguments[0].substring(flag.length()));
    HttpServer server =
        HttpServer.create(new InetSocketAddress(address.getHost(), address.getPort()), 0);
    byte[] body = "node_uname_info{machine=\"x86_64\"} 1\n".getBytes(StandardCharsets.US_ASCII);
    server.createContext(
        "/metrics",
        exchange -> {
          exchange.getResponseHeaders().set("Content-Type", "text/plain; version=0.0.4");
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
  }

  /** Writes an executable that runs this class. */
  static Path install(Path folder) throws IOException {
    Path program = folder.resolve("node_exporter");
    Files.writeString(
        program,
        "#!/bin/sh\nexec %s -Xshare:auto -XX:TieredStopAtLevel=1 -cp %s %s \"$@\"\n"
            .formatted(
                ProcessHandle.current().info().command().orElseThrow(),
                System.getProperty("java.class.path").split(File.pathSeparator)[0],
                FakeExporter.class.getName()));
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    return program;
  }
}
