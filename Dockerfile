# The service and its embedded PostgreSQL, which is used unless DATABASE_URL names a server. Debian: the embedded one needs glibc.

FROM node:20-bookworm-slim AS build
WORKDIR /opt/perennial
COPY package.json package-lock.json .npmrc ./
# Install scripts link the libraries of PostgreSQL; ours would build sources that are not there yet.
RUN npm ci --omit=dev --ignore-scripts && npm rebuild --ignore-scripts=false
COPY scripts/build.js scripts/build.js
COPY src src
# The pages of the reference are made of these.
COPY openapi.json openapi.json
COPY web/docs web/docs
RUN npm run build

FROM node:20-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
WORKDIR /opt/perennial
RUN install -d -o node -g node -m 0700 /data /backups
COPY package.json LICENSE ./
COPY bin bin
COPY db/migrations db/migrations
COPY db/before-0.1.0.sql.gz db/schema.sql db/
COPY web web
COPY --from=build /opt/perennial/node_modules node_modules
COPY --from=build /opt/perennial/dist dist
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "bin/perennial.js"]
CMD ["serve"]
